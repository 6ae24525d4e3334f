# verified own
project(m C)
file(WRITE ${CMAKE_BINARY_DIR}/e.c "int e;")
add_library(other SHARED ${CMAKE_BINARY_DIR}/e.c)
target_link_libraries(other PRIVATE FooA FooB FooZ)
add_library(${PROJECT_NAME} SHARED top.c)
target_link_libraries(${PROJECT_NAME} PRIVATE FooA FooB@ FooZ)
