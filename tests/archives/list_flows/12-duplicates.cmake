# verified
set(LIBS FooA FooB@ FooZ)
list(REMOVE_DUPLICATES LIBS)
target_link_libraries(m PRIVATE ${LIBS})
