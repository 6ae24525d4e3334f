# refused
set(LIBS FooA FooB@ FooZ)
list(TRANSFORM LIBS PREPEND -l)
list(REMOVE_ITEM LIBS -lFooX -lFooY)
target_link_libraries(m PRIVATE ${LIBS})
