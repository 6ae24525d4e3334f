# verified own
project(m C)
set(LIBS FooA FooB@ FooZ)
add_library(${PROJECT_NAME} SHARED top.c)
target_link_libraries(${PROJECT_NAME} PRIVATE ${LIBS})
