# verified
function(x_module name)
  cmake_parse_arguments(A "" "" "DEPENDS" ${ARGN})
  set(${name}_DEPS ${A_DEPENDS} PARENT_SCOPE)
endfunction()
x_module(core DEPENDS FooA FooB@ FooZ)
target_link_libraries(m PRIVATE ${core_DEPS})
