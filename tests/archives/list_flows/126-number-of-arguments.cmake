# unsure
function(x_link target)
  if(ARGC LESS 5)
    target_link_libraries(${target} PRIVATE ${ARGN})
  endif()
endfunction()
x_link(m FooA FooB@ FooZ)
