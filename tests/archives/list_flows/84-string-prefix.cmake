# verified
set(LIBS FooA FooB@ FooZ)
set(FLAGS)
foreach(l IN LISTS LIBS)
  string(CONCAT flag "-l" ${l})
  list(APPEND FLAGS -l${l})
endforeach()
target_link_libraries(m PRIVATE ${FLAGS})
