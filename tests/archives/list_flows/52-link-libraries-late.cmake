# verified
set(LIBS FooA FooB@ FooZ)
link_libraries(${LIBS})
target_link_libraries(m PRIVATE FooA FooB FooZ)
