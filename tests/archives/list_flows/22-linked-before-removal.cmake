# verified
function(link)
  target_link_libraries(m PRIVATE ${LIBS})
endfunction()
set(LIBS FooA FooB@ FooZ)
link()
list(REMOVE_ITEM LIBS FooX FooY)
message(STATUS ${LIBS})
