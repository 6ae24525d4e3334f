# verified
set_property(GLOBAL APPEND PROPERTY X_LIBS FooA FooB@ FooZ)
get_property(L GLOBAL PROPERTY X_LIBS)
target_link_libraries(m PRIVATE ${L})
