# refused
set(NAME LIBS)
set(LIBS FooA FooB@ FooZ)
list(REMOVE_ITEM ${NAME} FooX)
target_link_libraries(m PRIVATE ${LIBS})
