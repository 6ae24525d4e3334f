# unsure
foreach(x FooA FooB FooZ@)
  if(x MATCHES "[ABZ]$")
    list(APPEND LIBS ${x})
  endif()
endforeach()
target_link_libraries(m PRIVATE ${LIBS})
