# unsure
set(LIBS FooA FooB@ FooZ)
message(STATUS ${LIBS})
set(MORE FooA FooB FooZ)
set(LIBS ${MORE})
target_link_libraries(m PRIVATE ${LIBS})
