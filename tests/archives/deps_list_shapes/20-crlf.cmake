#: linked = alpha beta delta
#: add = gamma
#: value = WINDOWS_LIBS
#: words = gamma
#: diff = +1
set(WINDOWS_LIBS
  alpha
  beta
  delta
)
