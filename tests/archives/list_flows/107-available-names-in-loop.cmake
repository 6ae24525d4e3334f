# unsure
set(AVAILABLE FooA FooB FooZ)
foreach(l FooA FooB@ FooZ)
  if(l IN_LIST AVAILABLE)
    list(APPEND LIBS ${l})
  endif()
endforeach()
target_link_libraries(m PRIVATE ${LIBS})
