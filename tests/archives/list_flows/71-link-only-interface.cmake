# verified
set(LIBS FooA FooB@ FooZ)
set_property(TARGET m PROPERTY INTERFACE_LINK_LIBRARIES ${LIBS})
target_link_libraries(m PRIVATE FooA FooB FooZ)
