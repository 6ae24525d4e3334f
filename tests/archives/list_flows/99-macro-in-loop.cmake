# unsure
macro(add_part part)
  list(APPEND LIBS FooB@ ${part})
endmacro()
foreach(part FooZ FooA)
  add_part(${part})
endforeach()
target_link_libraries(m PRIVATE ${LIBS})
