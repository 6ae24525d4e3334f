# verified
set_property(GLOBAL APPEND PROPERTY P FooA FooB FooZ)
get_property(v GLOBAL PROPERTY P)
list(REVERSE v)
target_link_libraries(m PRIVATE ${v})
