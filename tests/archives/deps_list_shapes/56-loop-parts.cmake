#: linked = x_alpha x_beta x_delta
#: add = x_gamma
#: value = L
#: words = x_gamma
#: diff = ~1
set(L x_alpha)
foreach(x beta delta)
  list(APPEND L x_${x})
endforeach()
