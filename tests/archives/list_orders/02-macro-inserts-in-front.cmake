# unsure
macro(add)
  list(INSERT LIBS 0 ${ARGN})
endmacro()
add(FooA FooB)
add(FooZ)
target_link_libraries(m PRIVATE ${LIBS})
