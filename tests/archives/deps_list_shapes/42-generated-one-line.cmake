#: linked = alpha beta delta
#: add = gamma
#: value = GEN
#: words = gamma
#: diff = ~1
SET( GEN alpha beta delta ) # generated; do not edit (really)
