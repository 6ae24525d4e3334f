#: linked = alpha beta delta
#: add = gamma
#: value = L
#: words = gamma
#: diff = ~1
#: at_hand = omega
set(L alpha beta delta omega)
set(L alpha beta)
list(APPEND L delta)
