# refused
function(link)
  list(REMOVE_ITEM LIBS FooX FooY)
  target_link_libraries(m PRIVATE ${LIBS})
endfunction()
set(LIBS FooA FooB@ FooZ)
link()
