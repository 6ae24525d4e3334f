# verified
macro(add)
  list(APPEND LIBS ${ARGN})
endmacro()
add(FooA FooB)
add(FooZ)
target_link_libraries(m PRIVATE ${LIBS})
