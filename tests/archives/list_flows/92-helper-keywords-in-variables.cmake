# verified
function(link_plugin target)
  set(one NAME)
  set(many LIBS SOURCES)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "${one}" "${many}")
  target_link_libraries(${target} PRIVATE ${ARG_LIBS})
endfunction()
link_plugin(m
  SOURCES m.c
  LIBS
    FooA
    FooB@
    FooZ
  NAME other)
