# verified
set(LIBS FooA FooB@ FooZ)
if(UNIX)
  set(LIBS FooA FooB FooZ pthread)
endif()
target_link_libraries(m PRIVATE ${LIBS})
