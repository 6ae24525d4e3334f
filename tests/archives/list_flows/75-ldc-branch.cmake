# verified
set(LIBS FooA FooB@ FooZ)
if(WIN32)
  list(APPEND LIBS imagehlp psapi)
else()
  list(APPEND LIBS m_dummy)
  list(REMOVE_ITEM LIBS m_dummy)
endif()
target_link_libraries(m PRIVATE ${LIBS})
