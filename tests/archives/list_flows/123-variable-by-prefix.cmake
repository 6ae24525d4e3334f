# verified
function(x_link prefix)
  target_link_libraries(m PRIVATE ${${prefix}_LIBS})
endfunction()
set(Foo_LIBS FooA FooB@ FooZ)
x_link(Foo)
