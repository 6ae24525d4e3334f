#: linked = alpha beta delta
#: add = gamma
#: value = L
#: words = gamma
#: diff = ~1
set(L delta)
list(INSERT L 0 alpha beta)
