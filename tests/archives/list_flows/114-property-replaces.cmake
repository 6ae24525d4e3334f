# verified
target_link_libraries(m PRIVATE FooA FooB FooZ)
set_property(TARGET m PROPERTY LINK_LIBRARIES FooA FooB@ FooZ)
