# verified
macro(x_libs)
  foreach(l ${ARGN})
    list(APPEND LIBS ${l})
  endforeach()
endmacro()
x_libs(FooA FooB@ FooZ)
target_link_libraries(m PRIVATE ${LIBS})
