# verified
add_library(deps INTERFACE IMPORTED)
set_target_properties(deps PROPERTIES INTERFACE_LINK_LIBRARIES "FooA;FooB;FooZ")
target_link_libraries(m PRIVATE deps)
