# unsure
function(f t)
  cmake_parse_arguments(A "" "" "LIBS;SYS" ${ARGN})
  target_link_libraries(${t} PRIVATE ${A_SYS})
  target_link_libraries(${t} PRIVATE ${A_LIBS})
endfunction()
f(m LIBS FooA FooB SYS FooZ)
