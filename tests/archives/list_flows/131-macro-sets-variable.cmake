# verified
macro(ocv_add_module name)
  set(${name}_DEPS ${ARGN})
endmacro()
ocv_add_module(core FooA FooB@ FooZ)
target_link_libraries(m PRIVATE ${core_DEPS})
