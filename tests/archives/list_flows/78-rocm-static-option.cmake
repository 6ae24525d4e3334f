# verified
option(BUILD_STATIC "static" OFF)
set(LIBS FooA FooB@ FooZ)
if(BUILD_STATIC)
  target_link_libraries(m PRIVATE -static ${LIBS})
else()
  target_link_libraries(m PRIVATE ${LIBS})
endif()
