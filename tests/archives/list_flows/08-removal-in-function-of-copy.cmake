# verified
function(prune)
  list(REMOVE_ITEM LIBS FooX)
endfunction()
set(LIBS FooA FooB@ FooZ)
prune()
target_link_libraries(m PRIVATE ${LIBS})
