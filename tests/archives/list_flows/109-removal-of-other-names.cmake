# verified
set(LIBS FooA FooB@ FooZ)
set(UNSUPPORTED FooA)
list(REMOVE_ITEM LIBS ${UNSUPPORTED})
target_link_libraries(m PRIVATE FooA ${LIBS})
