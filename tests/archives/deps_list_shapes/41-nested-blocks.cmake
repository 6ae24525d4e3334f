#: linked = alpha beta omega
#: add = gamma
#: value = N
#: words = gamma
#: diff = +1
foreach(round 1)
  if(NOT APPLE)
    if(TRUE)
      set(N
        alpha
        beta
        omega)
    endif()
  endif()
endforeach()
