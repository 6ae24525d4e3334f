# verified
foreach(l FooA FooB@ FooZ)
  find_library(FOUND_${l} ${l} PATHS ${CMAKE_CURRENT_SOURCE_DIR}/../a NO_DEFAULT_PATH)
  list(APPEND LIBS ${FOUND_${l}})
endforeach()
target_link_libraries(m PRIVATE ${LIBS})
