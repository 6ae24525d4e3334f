# verified
macro(x t)
  cmake_parse_arguments(A "" "" "LIBS;ALT" ${ARGN})
  target_link_libraries(${t} PRIVATE ${A_LIBS} ${A_ALT})
endmacro()
add_library(o STATIC top.c)
x(o ALT FooA FooB FooZ)
x(m LIBS FooA FooB FooZ)
