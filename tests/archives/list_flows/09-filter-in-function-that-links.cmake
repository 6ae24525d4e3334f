# refused
function(link target)
  list(FILTER LIBS INCLUDE REGEX "^Foo[ABZ]")
  target_link_libraries(${target} PRIVATE ${LIBS})
endfunction()
set(LIBS FooA FooB@ FooZ)
link(m)
