# verified
set(LIBS FooA FooB@ FooZ)
set(SAVED ${LIBS})
list(REMOVE_ITEM LIBS FooX FooY)
set(LIBS ${SAVED})
target_link_libraries(m PRIVATE ${LIBS})
