# verified own
project(other C)
file(WRITE ${CMAKE_BINARY_DIR}/e.c "int e;")
add_library(${PROJECT_NAME} SHARED ${CMAKE_BINARY_DIR}/e.c)
target_link_libraries(${PROJECT_NAME} PRIVATE FooA FooB FooZ)
project(m C)
add_library(${PROJECT_NAME} SHARED top.c)
target_link_libraries(${PROJECT_NAME} PRIVATE FooA FooB@ FooZ)
