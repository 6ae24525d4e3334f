# verified
function(x_link)
  list(GET ARGV 0 t)
  list(SUBLIST ARGV 1 -1 libs)
  target_link_libraries(${t} PRIVATE ${libs})
endfunction()
x_link(m FooA FooB@ FooZ)

