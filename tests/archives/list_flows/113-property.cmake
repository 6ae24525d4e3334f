# verified
set_property(TARGET m PROPERTY LINK_LIBRARIES FooA FooB@ FooZ)
