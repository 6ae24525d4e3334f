#: linked = alpha beta delta
#: add = gamma
#: value = L
#: words = gamma
#: diff = +1
set(L
  alpha   # first (of all)
  beta    # "second
  delta   # needs gamma
  )
