#: linked = alpha beta omega
#: add = gamma
#: value = L
#: words = gamma
#: diff = +1
set(L alpha beta)
if(TRUE)
  set(L alpha beta dl)
endif()
list(APPEND L
  omega
)
