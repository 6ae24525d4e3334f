# unsure
set(n m m m)
set(l FooA FooB FooZ)
foreach(t x IN ZIP_LISTS n l)
  target_link_libraries(${t} PRIVATE ${x})
endforeach()
