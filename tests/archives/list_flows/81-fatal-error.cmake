# verified
set(LIBS FooA FooB@ FooZ)
if(NOT UNIX)
  set(LIBS)
  message(FATAL_ERROR "no")
endif()
target_link_libraries(m PRIVATE ${LIBS})
