# unsure
set(LIBS FooA FooB@ FooZ)
link_libraries(${LIBS})
add_custom_target(docs)
