# unsure
set(BAD FooX FooY)
foreach(x FooA FooB@ FooZ)
  if(x IN_LIST BAD)
    continue()
  endif()
  list(APPEND LIBS ${x})
endforeach()
target_link_libraries(m PRIVATE ${LIBS})
