# unsure
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
  target_link_libraries(m PRIVATE FooA FooB@ FooZ)
endif()
