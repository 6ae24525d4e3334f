# verified
function(x_link t)
  x_link_all(${t} ${ARGN})
endfunction()
function(x_link_all t)
  target_link_libraries(${t} PRIVATE ${ARGN})
endfunction()
x_link(m FooA FooB@ FooZ)
