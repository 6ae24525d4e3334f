# verified
set_property(TARGET m APPEND PROPERTY LINK_LIBRARIES FooA FooB@ FooZ)
