# verified
set(LIBS FooA FooB FooZ@)
target_link_libraries(m INTERFACE ${LIBS})
target_link_libraries(m PRIVATE FooA FooB FooZ)
