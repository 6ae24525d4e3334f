#: linked = alpha beta omega
#: add = gamma
#: value = L
#: words = gamma
#: diff = ~2
if(WIN32)
  set(L alpha beta omega ws2_32)
else()
  set(L alpha beta omega dl)
endif()
