# verified
set(LIBS FooQ FooA FooB@ FooZ)
list(REMOVE_AT LIBS 0)
target_link_libraries(m PRIVATE ${LIBS})
