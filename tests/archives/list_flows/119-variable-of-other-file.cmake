# verified
if(FLAVOR STREQUAL "big")
  set(LIBS FooA FooB FooZ)
else()
  set(LIBS FooA FooZ)
endif()
target_link_libraries(m PRIVATE ${LIBS})
