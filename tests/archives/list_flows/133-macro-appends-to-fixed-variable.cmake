# verified
set(MIOPEN_LIBS)
macro(add_libs)
  set(MIOPEN_LIBS ${MIOPEN_LIBS} ${ARGN})
endmacro()
add_libs(FooA FooB@)
add_libs(FooZ)
target_link_libraries(m PRIVATE ${MIOPEN_LIBS})
