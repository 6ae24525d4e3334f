# verified
function(x_link t)
  cmake_parse_arguments(A "" "" "LIBS;SYS" ${ARGN})
  target_link_libraries(${t} PRIVATE ${A_LIBS} ${A_SYS})
endfunction()
x_link(m SYS FooZ LIBS FooA FooB)
