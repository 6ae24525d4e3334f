# verified
function(x_link t)
  cmake_parse_arguments(PARSE_ARGV 1 A "SHARED" "" "")
  target_link_libraries(${t} PRIVATE ${A_UNPARSED_ARGUMENTS})
endfunction()
x_link(m SHARED FooA FooB@ FooZ)
