# verified own
add_library(obj OBJECT top.c)
set_property(TARGET obj PROPERTY POSITION_INDEPENDENT_CODE ON)
target_link_libraries(obj PUBLIC FooA FooB@ FooZ)
add_library(m SHARED $<TARGET_OBJECTS:obj>)
target_link_libraries(m PRIVATE obj)
