# verified
macro(x_out)
  x_in(L ${ARGN})
endmacro()
function(x_in var)
  set(${var} ${ARGN} PARENT_SCOPE)
endfunction()
x_out(FooA FooB@ FooZ)
target_link_libraries(m PRIVATE ${L})
