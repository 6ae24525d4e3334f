# unsure
set(LIBS FooA FooB@ FooZ)
while(LIBS)
  list(POP_FRONT LIBS l)
  target_link_libraries(m PRIVATE ${l})
endwhile()
