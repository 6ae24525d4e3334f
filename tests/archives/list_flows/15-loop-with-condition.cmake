# unsure
foreach(x FooA FooB FooZ@)
  if(x STREQUAL FooA OR x STREQUAL FooB OR x STREQUAL FooZ)
    list(APPEND LIBS ${x})
  else()
    message(STATUS ${x})
  endif()
endforeach()
target_link_libraries(m PRIVATE ${LIBS})
