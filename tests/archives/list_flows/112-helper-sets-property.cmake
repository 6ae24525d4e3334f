# verified
function(x_link t)
  set_property(TARGET ${t} APPEND PROPERTY LINK_LIBRARIES ${ARGN})
endfunction()
x_link(m FooA FooB@ FooZ)
