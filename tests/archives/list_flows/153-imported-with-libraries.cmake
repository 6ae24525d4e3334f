# verified
add_library(fooa STATIC IMPORTED)
set_target_properties(fooa PROPERTIES IMPORTED_LOCATION ${CMAKE_CURRENT_SOURCE_DIR}/../a/libFooA.a INTERFACE_LINK_LIBRARIES "FooB;FooZ")
target_link_libraries(m PRIVATE fooa)
