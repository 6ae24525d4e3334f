# unsure
macro(add)
  set(LIBS ${ARGN} ${LIBS})
endmacro()
add(FooA FooB)
add(FooZ)
target_link_libraries(m PRIVATE ${LIBS})
