# unsure
set(LIBS FooA FooB@ FooZ)
if(FLAVOR STREQUAL big)
  string(REPLACE "," ";" LIBS "FooA,FooB,FooZ")
endif()
target_link_libraries(m PRIVATE ${LIBS})
