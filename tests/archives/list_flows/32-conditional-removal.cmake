# refused
set(LIBS FooA FooB@ FooZ)
if(UNIX)
  list(REMOVE_ITEM LIBS FooX)
endif()
target_link_libraries(m PRIVATE ${LIBS})
