# unsure
foreach(x FooA FooB@ FooZ)
  if(NOT x IN_LIST BAD)
    list(APPEND LIBS ${x})
  endif()
endforeach()
target_link_libraries(m PRIVATE ${LIBS})
