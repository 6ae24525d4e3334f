# verified
set(LIBS FooA FooB@ FooZ)
set_property(TARGET m APPEND PROPERTY LINK_LIBRARIES ${LIBS})
