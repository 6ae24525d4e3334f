# verified
set(LIBS FooA FooB@ FooZ)
target_link_libraries(m PRIVATE "$<$<NOT:$<CONFIG:Nothing>>:${LIBS}>")
