# verified
file(WRITE ${CMAKE_BINARY_DIR}/e.c "int e;")
add_library(core STATIC ${CMAKE_BINARY_DIR}/e.c)
set(LIBS FooA FooB@ FooZ)
target_link_libraries(core PRIVATE ${LIBS})
target_link_libraries(m PRIVATE core)
