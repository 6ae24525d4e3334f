# unsure
set(LIBS FooA FooB@ FooZ)
cmake_language(EVAL CODE "list(REMOVE_ITEM LIBS FooX FooY)")
target_link_libraries(m PRIVATE ${LIBS})
