# verified
function(x_link t)
  target_link_libraries(${t} PRIVATE ${ARGN})
endfunction()
function(x_link t)
endfunction()
target_link_libraries(m PRIVATE FooA FooB FooZ)
x_link(m FooA FooB@ FooZ)
