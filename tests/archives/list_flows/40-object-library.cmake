# verified
file(WRITE ${CMAKE_BINARY_DIR}/e.c "int e;")
add_library(obj OBJECT ${CMAKE_BINARY_DIR}/e.c)
target_link_libraries(obj PUBLIC FooA FooB@ FooZ)
target_link_libraries(m PRIVATE obj)
