# verified
set(LIBS FooA FooB@ FooZ)
list(FILTER LIBS EXCLUDE REGEX "^Bar")
list(FILTER LIBS INCLUDE REGEX "^Foo[A-Z]$")
target_link_libraries(m PRIVATE ${LIBS})
