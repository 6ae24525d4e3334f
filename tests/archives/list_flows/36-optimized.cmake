# verified
set(LIBS optimized FooA debug FooA general FooB@ optimized FooZ debug FooZ)
target_link_libraries(m ${LIBS})
