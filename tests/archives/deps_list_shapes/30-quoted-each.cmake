#: linked = alpha beta delta
#: add = gamma
#: value = Q
#: words = gamma
#: diff = +1
set(Q
  "alpha"
  "beta"
  "delta"
)
