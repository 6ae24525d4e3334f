# unsure
foreach(x FooA FooB@ FooZ)
  if(x STREQUAL FooX)
    break()
  endif()
  list(APPEND LIBS ${x})
endforeach()
target_link_libraries(m PRIVATE ${LIBS} FooZ)
