# verified
function(x_link t libs)
  target_link_libraries(${t} PRIVATE ${libs})
endfunction()
x_link(m "FooA;FooB;FooZ")
