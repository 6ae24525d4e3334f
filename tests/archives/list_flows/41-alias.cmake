# verified
add_library(core INTERFACE)
add_library(ns::core ALIAS core)
set(LIBS FooA FooB@ FooZ)
target_link_libraries(core INTERFACE ${LIBS})
target_link_libraries(m PRIVATE ns::core)
