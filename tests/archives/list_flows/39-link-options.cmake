# verified
set(LIBS FooA FooB@ FooZ)
target_link_options(m PRIVATE -Wl,--as-needed)
target_link_libraries(m PRIVATE ${LIBS})
