# verified
set(LIBS FooA FooB FooZ)
block()
  set(LIBS FooA FooB FooB FooB FooZ@)
endblock()
target_link_libraries(m PRIVATE ${LIBS})
