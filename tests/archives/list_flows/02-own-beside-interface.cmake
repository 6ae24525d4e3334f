# verified
set(LIBS FooA FooB FooZ)
set(OWN FooA FooB@ FooZ)
target_link_libraries(m INTERFACE ${LIBS} PRIVATE ${OWN})
