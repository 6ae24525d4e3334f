# unsure
set(LIBS FooA FooB@ FooZ)
list(LENGTH LIBS count)
if(count EQUAL 3)
  target_link_libraries(m PRIVATE ${LIBS})
endif()
