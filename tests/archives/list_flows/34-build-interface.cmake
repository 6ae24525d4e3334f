# verified
set(LIBS FooA FooB@ FooZ)
target_link_libraries(m PRIVATE "$<BUILD_INTERFACE:${LIBS}>")
