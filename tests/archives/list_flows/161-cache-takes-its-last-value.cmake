# verified
function(x_libs)
  set(FORCED_LIBS ${ARGN} CACHE STRING "" FORCE)
endfunction()
x_libs(FooA FooB FooZ)
x_libs(FooA FooB@ FooZ)
target_link_libraries(m PRIVATE ${FORCED_LIBS})
