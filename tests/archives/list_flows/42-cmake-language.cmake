# verified
set(LIBS FooA FooB@ FooZ)
cmake_language(CALL target_link_libraries m PRIVATE ${LIBS})
