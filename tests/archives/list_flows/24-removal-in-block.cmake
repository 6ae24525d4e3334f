# verified
set(LIBS FooA FooB@ FooZ)
block()
  list(REMOVE_ITEM LIBS FooX)
endblock()
target_link_libraries(m PRIVATE ${LIBS})
