#: linked = alpha beta delta
#: add = gamma
#: value = lib
#: words = gamma
#: diff = +1
target_link_libraries(lib PRIVATE
  $<$<CONFIG:Debug>:-fsanitize=address>
  alpha
  "$<$<PLATFORM_ID:Linux>:beta;gamma>"
  beta
  delta
  $<LINK_ONLY:gamma>
)
