# verified
function(my_link target)
  cmake_parse_arguments(ARG "" "ONE" "LIBS" ${ARGN})
  target_link_libraries(${target} PRIVATE FooA FooB FooZ)
  message(STATUS "${ARG_LIBS}")
endfunction()
set(LIBS FooA FooB@ FooZ)
my_link(m LIBS ${LIBS})
