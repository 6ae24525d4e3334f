# unsure
file(WRITE ${CMAKE_BINARY_DIR}/more.cmake "list(REMOVE_ITEM LIBS FooX FooY)\n")
set(LIBS FooA FooB@ FooZ)
include(${CMAKE_BINARY_DIR}/more.cmake)
target_link_libraries(m PRIVATE ${LIBS})
