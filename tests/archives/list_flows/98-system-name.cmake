# unsure
set(LIBS FooA FooB@ FooZ)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  target_link_libraries(m PRIVATE FooA FooB FooZ)
else()
  target_link_libraries(m PRIVATE ${LIBS})
endif()
