# verified
function(x_link)
  target_link_libraries(${ARGV0} PRIVATE ${ARGV1})
endfunction()
x_link(m "FooA;FooB;FooZ")
