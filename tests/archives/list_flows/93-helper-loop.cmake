# verified
function(x_link target)
  foreach(lib IN LISTS ARGN)
    target_link_libraries(${target} PRIVATE ${lib})
  endforeach()
endfunction()
x_link(m FooA FooB@ FooZ)
