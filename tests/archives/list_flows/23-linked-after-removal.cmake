# refused
function(link)
  target_link_libraries(m PRIVATE ${LIBS})
endfunction()
set(LIBS FooA FooB@ FooZ)
list(REMOVE_ITEM LIBS FooX FooY)
link()
