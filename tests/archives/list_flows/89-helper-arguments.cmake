# verified
function(x_link target)
  target_link_libraries(${target} PRIVATE ${ARGN})
endfunction()
x_link(m FooA FooB@ FooZ)
