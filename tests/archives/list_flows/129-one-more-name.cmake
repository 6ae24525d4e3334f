# unsure
set(LIBS FooA FooB@ FooZ)
list(LENGTH LIBS count)
if(${count} LESS_EQUAL 4)
  target_link_libraries(m PRIVATE ${LIBS})
endif()
