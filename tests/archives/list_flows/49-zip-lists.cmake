# unsure
set(LIBS FooA FooB@ FooZ)
set(NAMES a b z)
foreach(l n IN ZIP_LISTS LIBS NAMES)
  if(n)
    target_link_libraries(m PRIVATE ${l})
  endif()
endforeach()
