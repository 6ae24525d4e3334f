# verified own
file(WRITE ${CMAKE_BINARY_DIR}/e.c "int e;")
foreach(T other m)
  add_library(${T} SHARED top.c)
  target_link_libraries(${T} PRIVATE FooA FooB@ FooZ)
endforeach()
