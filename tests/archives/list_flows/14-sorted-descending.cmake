# unsure
set(LIBS FooA FooB@ FooZ)
list(SORT LIBS ORDER DESCENDING)
target_link_libraries(m PRIVATE ${LIBS})
