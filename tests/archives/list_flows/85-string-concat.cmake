# unsure
set(LIBS FooA FooB@ FooZ)
foreach(l IN LISTS LIBS)
  string(CONCAT flag "-l" ${l})
  list(APPEND FLAGS ${flag})
endforeach()
target_link_libraries(m PRIVATE ${FLAGS})
