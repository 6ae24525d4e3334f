#: linked = alpha beta omega
#: add = gamma
#: value = L
#: words = gamma
#: diff = ~2
set(L alpha beta omega)
if(TRUE)
  set(L alpha beta omega dl)
endif()
