# verified
set(LIBS FooA FooB@ FooZ)
set_target_properties(m PROPERTIES LINK_LIBRARIES "${LIBS}")
