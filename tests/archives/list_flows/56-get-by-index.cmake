# unsure
set(LIBS FooA FooB FooZ@)
foreach(i RANGE 2)
  list(GET LIBS ${i} l)
  target_link_libraries(m PRIVATE ${l})
endforeach()
