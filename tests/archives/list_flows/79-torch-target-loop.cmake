# verified
set(LIBS FooA FooB@ FooZ)
foreach(target m)
  target_link_libraries(${target} PRIVATE ${LIBS})
endforeach()
