# unsure
foreach(x FooA FooB@ FooZ)
  if(NOT TARGET ${x})
    list(APPEND LIBS ${x})
  endif()
endforeach()
target_link_libraries(m PRIVATE ${LIBS})
