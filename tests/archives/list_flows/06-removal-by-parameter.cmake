# refused
macro(prune list)
  list(REMOVE_ITEM ${list} ${ARGN})
endmacro()
set(LIBS FooA FooB@ FooZ)
prune(LIBS FooX FooY)
target_link_libraries(m PRIVATE ${LIBS})
