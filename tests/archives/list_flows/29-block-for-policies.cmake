# refused
set(LIBS FooA FooB@ FooZ)
block(SCOPE_FOR POLICIES)
  list(REMOVE_ITEM LIBS FooX)
endblock()
target_link_libraries(m PRIVATE ${LIBS})
