# verified
set_target_properties(m PROPERTIES LINK_LIBRARIES "FooA;FooB;FooZ")
