# verified
function(x_libs)
  set(FIRST_LIBS ${ARGN} CACHE STRING "")
endfunction()
unset(FIRST_LIBS CACHE)
x_libs(FooA FooB@ FooZ)
x_libs(FooA FooB FooZ)
target_link_libraries(m PRIVATE ${FIRST_LIBS})
