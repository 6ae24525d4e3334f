# unsure
foreach(l FooA FooB FooZ)
  find_library(ONCE ${l} PATHS ${CMAKE_CURRENT_SOURCE_DIR}/../a NO_DEFAULT_PATH)
  list(APPEND LIBS ${ONCE})
endforeach()
target_link_libraries(m PRIVATE ${LIBS})

