# verified
set(LIBS FooA)
foreach(c B Z)
  list(APPEND LIBS Foo${c})
endforeach()
target_link_libraries(m PRIVATE ${LIBS} ${CMAKE_DL_LIBS})
