#: linked = alpha beta delta
#: add = gamma
#: value = L
#: words = gamma
#: diff = ~1
set(L alpha)
foreach(x IN ITEMS beta delta)
  list(APPEND L ${x})
endforeach()
