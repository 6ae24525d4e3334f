# verified
function(my_link target)
  cmake_parse_arguments(ARG "SHARED" "DEST" "LIBS;SOURCES" ${ARGN})
  target_link_libraries(${target} PRIVATE ${ARG_LIBS})
endfunction()
set(LIBS FooA FooB@ FooZ)
my_link(m SHARED LIBS ${LIBS} DEST lib)
