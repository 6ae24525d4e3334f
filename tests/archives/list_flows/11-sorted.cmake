# unsure
set(LIBS FooZ FooB@ FooA)
list(SORT LIBS)
target_link_libraries(m PRIVATE ${LIBS})
