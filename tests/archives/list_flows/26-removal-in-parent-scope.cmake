# refused
function(prune)
  list(REMOVE_ITEM LIBS FooX)
  set(LIBS ${LIBS} PARENT_SCOPE)
endfunction()
set(LIBS FooA FooB@ FooZ)
prune()
target_link_libraries(m PRIVATE ${LIBS})
