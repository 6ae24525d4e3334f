#: linked = alpha beta delta gtest gmock gmain gutil
#: add = gamma
#: value = LIBS
#: words = gamma
#: diff = +1
set(LIBS
  alpha
  beta
  delta
)
if(BUILD_TESTING)
  list(APPEND LIBS gtest gmock gmain gutil)
endif()
