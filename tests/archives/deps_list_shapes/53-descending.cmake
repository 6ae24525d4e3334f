#: linked = alpha beta delta omega zeta
#: add = gamma
#: value = L
#: words = gamma
#: diff = +1
#: before = omega<gamma gamma<delta
set(L
  zeta
  omega
  delta
  beta
  alpha
)
