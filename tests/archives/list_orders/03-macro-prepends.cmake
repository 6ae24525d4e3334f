# verified
macro(add)
  list(PREPEND LIBS ${ARGN})
endmacro()
add(FooZ)
add(FooA FooB)
target_link_libraries(m PRIVATE ${LIBS})
