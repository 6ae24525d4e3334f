#: linked = alpha beta delta
#: add = gamma
#: value = mixed
#: words = gamma
#: diff = +1
target_link_libraries(mixed
  debug beta_d
  optimized beta
  alpha
  delta
)
