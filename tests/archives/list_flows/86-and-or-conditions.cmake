# verified
set(LIBS FooA FooB@ FooZ)
if(NOT (UNIX AND FALSE) OR LIBS)
  target_link_libraries(m PRIVATE ${LIBS})
endif()
