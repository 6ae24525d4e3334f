# verified
set(NAME LIBS)
set(${NAME} FooA FooB@ FooZ)
target_link_libraries(m PRIVATE ${${NAME}})
