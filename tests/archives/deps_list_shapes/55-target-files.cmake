#: linked = alpha beta delta
#: add = gamma
#: value = L
#: words = $<TARGET_FILE:gamma>
#: diff = +1
set(L
  $<TARGET_FILE:alpha>
  $<TARGET_FILE:beta>
  "$<TARGET_FILE:delta>"
)
