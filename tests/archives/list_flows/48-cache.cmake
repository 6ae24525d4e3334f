# verified
set(LIBS FooA FooB@ FooZ CACHE STRING "names")
target_link_libraries(m PRIVATE ${LIBS})
