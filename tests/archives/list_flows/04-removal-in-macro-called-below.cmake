# refused
macro(prune)
  list(REMOVE_ITEM LIBS FooX)
endmacro()
set(LIBS FooA FooB@ FooZ)
prune()
target_link_libraries(m PRIVATE ${LIBS})
