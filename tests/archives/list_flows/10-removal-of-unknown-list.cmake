# unsure
set(LIBS FooA FooB@ FooZ)
list(REMOVE_ITEM ${WHICH} FooX)
target_link_libraries(m PRIVATE ${LIBS})
