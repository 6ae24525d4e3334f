# verified
function(x_libs)
  set(CACHED_LIBS ${ARGN} CACHE INTERNAL "")
endfunction()
x_libs(FooA FooB@ FooZ)
target_link_libraries(m PRIVATE ${CACHED_LIBS})
