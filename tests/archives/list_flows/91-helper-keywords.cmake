# verified
function(link_plugin)
  cmake_parse_arguments(ARG "" "NAME" "LIBS;SOURCES" ${ARGN})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LIBS})
endfunction()
link_plugin(NAME m LIBS FooA FooB@ FooZ SOURCES m.c)
