# verified own
set(TARGET m)
file(WRITE ${CMAKE_BINARY_DIR}/e.c "int e;")
add_library(other SHARED ${CMAKE_BINARY_DIR}/e.c)
target_link_libraries(other PRIVATE FooA FooB FooZ)
add_library(${TARGET} SHARED top.c)
target_link_libraries(${TARGET} PRIVATE FooA FooB@ FooZ)
