# verified
set(LIBS FooA FooB@ FooZ)
if(WIN32)
  list(APPEND LIBS FooA)
endif()
target_link_libraries(m PRIVATE ${LIBS} ${LIBS})
