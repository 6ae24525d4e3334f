# unsure
set(LIBS FooZ FooA FooB@ FooZ)
list(REMOVE_DUPLICATES LIBS)
target_link_libraries(m PRIVATE ${LIBS})
