# unsure
add_library(deps INTERFACE)
target_link_libraries(deps INTERFACE FooA FooB@ FooZ)
get_target_property(LIBS deps INTERFACE_LINK_LIBRARIES)
target_link_libraries(m PRIVATE ${LIBS})
