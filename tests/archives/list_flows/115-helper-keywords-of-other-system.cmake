# verified
function(x_link t)
  cmake_parse_arguments(A "" "" "LIBS;WIN32_LIBS" ${ARGN})
  if(WIN32)
    target_link_libraries(${t} PRIVATE ${A_WIN32_LIBS})
  endif()
  target_link_libraries(${t} PRIVATE ${A_LIBS})
endfunction()
x_link(m WIN32_LIBS FooA FooB FooQ FooZ LIBS FooA FooB@ FooZ)
