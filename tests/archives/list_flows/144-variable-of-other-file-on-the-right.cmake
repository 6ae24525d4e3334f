# verified
set(WANT big)
if(WANT STREQUAL FLAVOR)
  set(LIBS FooA FooB FooZ)
else()
  set(LIBS FooA)
endif()
target_link_libraries(m PRIVATE ${LIBS})
