#: linked = alpha beta delta
#: add = gamma
#: value = L
#: words = gamma
#: diff = ~1
set(L alpha beta)
unset(L)
set(L alpha beta delta)
