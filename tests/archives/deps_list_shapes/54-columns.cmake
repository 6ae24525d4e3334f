#: linked = alpha beta delta omega zeta zulu
#: add = gamma
#: value = L
#: words = gamma
#: diff = ~1
#: before = delta<gamma gamma<omega
set(L
  alpha   beta
  delta   omega
  zeta    zulu)
