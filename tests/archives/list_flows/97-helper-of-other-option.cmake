# unsure
function(link_plugin name)
  if(X_OWN_LIBS)
    target_link_libraries(${name} PRIVATE ${ARGN})
  else()
    target_link_libraries(${name} PRIVATE FooA FooB FooZ)
  endif()
endfunction()
link_plugin(m FooA FooB@ FooZ)
