#: linked = alpha beta delta omega
#: add = gamma
#: value = L
#: words = gamma
#: diff = +1
set(L
  alpha
  beta
  omega)
if(TRUE)
  set(L
    alpha
    beta
    delta
    omega)
endif()
