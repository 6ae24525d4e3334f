# unsure
set(LIBS FooA FooB@ FooZ)
target_link_libraries(m PRIVATE ${LIBS})
set_target_properties(m PROPERTIES LINK_LIBRARIES "FooA;FooB;FooZ")
