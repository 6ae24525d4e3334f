# verified
function(x_link)
  set(t ${ARGV0})
  list(REMOVE_AT ARGV 0)
  target_link_libraries(${t} PRIVATE ${ARGV})
endfunction()
x_link(m FooA FooB@ FooZ)
