# verified own
set(LIBS FooA FooB@ FooZ)
link_libraries(${LIBS})
add_library(m SHARED top.c)
