# verified
foreach(x FooA FooB@ FooZ)
  if(x MATCHES "^Foo")
    list(APPEND LIBS ${x})
  endif()
endforeach()
target_link_libraries(m PRIVATE ${LIBS})
