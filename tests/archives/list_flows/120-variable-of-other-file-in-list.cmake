# verified
set(FLAVORS small big)
if(FLAVOR IN_LIST FLAVORS)
  set(LIBS FooA FooB FooZ)
else()
  set(LIBS FooA FooZ)
endif()
target_link_libraries(m PRIVATE ${LIBS})
