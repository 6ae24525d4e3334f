# verified
if(UNIX)
  set(LIBS FooA FooB@ FooZ)
else()
  set(LIBS FooA FooB FooZ kernel32)
endif()
target_link_libraries(m PRIVATE ${LIBS})
