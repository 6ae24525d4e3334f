# verified
set(LIBS FooA FooB@ FooZ)
list(TRANSFORM LIBS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/../a/lib")
list(TRANSFORM LIBS APPEND ".a")
target_link_libraries(m PRIVATE ${LIBS})
