# verified
foreach(l FooA FooB@ FooZ)
  add_library(t_${l} STATIC IMPORTED)
  set_property(TARGET t_${l} PROPERTY IMPORTED_LOCATION ${CMAKE_CURRENT_SOURCE_DIR}/../a/lib${l}.a)
  target_link_libraries(m PRIVATE t_${l})
endforeach()
