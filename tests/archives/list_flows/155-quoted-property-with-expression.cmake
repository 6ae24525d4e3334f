# unsure
add_library(deps INTERFACE IMPORTED GLOBAL)
set_target_properties(deps PROPERTIES
  INTERFACE_LINK_LIBRARIES "FooA;$<$<CONFIG:Debug>:FooQ>;FooB;FooZ"
)
target_link_libraries(m PRIVATE deps)
