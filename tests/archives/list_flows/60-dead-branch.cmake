# unsure
set(USE_OLD OFF)
if(USE_OLD)
  set(LIBS FooA FooB FooB@ FooZ)
endif()
target_link_libraries(m PRIVATE ${LIBS} FooA FooB FooZ)
