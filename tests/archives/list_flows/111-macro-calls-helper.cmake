# verified
function(x_link_all)
  cmake_parse_arguments(A "" "TARGET" "LIBS" ${ARGN})
  target_link_libraries(${A_TARGET} PRIVATE ${A_LIBS})
endfunction()
macro(x_link t)
  x_link_all(TARGET ${t} LIBS ${ARGN})
endmacro()
x_link(m FooA FooB@ FooZ)
