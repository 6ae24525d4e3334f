# verified
set(LIBS FooA FooB@ FooZ)
if(NOT LLVM_VERSION VERSION_LESS 19)
  list(APPEND LIBS m)
endif()
list(REMOVE_ITEM LIBS m)
target_link_libraries(m PRIVATE ${LIBS})
