# unsure
set(LIBS FooA FooB@ FooZ)
if(X_SMALL)
  list(REMOVE_ITEM LIBS FooX)
endif()
target_link_libraries(m PRIVATE ${LIBS})
