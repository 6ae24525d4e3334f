#: linked = alpha beta delta
#: add = gamma
#: value = P
#: words = gamma
#: diff = ~1
function(libs)
  set(P alpha beta delta PARENT_SCOPE)
endfunction()
libs()
