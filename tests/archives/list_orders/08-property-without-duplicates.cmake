# verified
set_property(GLOBAL APPEND PROPERTY P FooZ FooA FooB FooZ)
get_property(v GLOBAL PROPERTY P)
list(REMOVE_DUPLICATES v)
target_link_libraries(m PRIVATE ${v})
