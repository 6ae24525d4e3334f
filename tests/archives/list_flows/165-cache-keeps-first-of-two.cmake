# verified
unset(TWICE CACHE)
set(TWICE FooA FooB@ FooZ CACHE STRING "")
set(TWICE FooA FooB FooZ CACHE STRING "")
target_link_libraries(m PRIVATE ${TWICE})
