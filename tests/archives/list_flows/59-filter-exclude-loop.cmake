# refused
set(LIBS FooA FooB@ FooZ)
foreach(bad X Y Q)
  list(FILTER LIBS EXCLUDE REGEX "^Foo${bad}$")
endforeach()
target_link_libraries(m PRIVATE ${LIBS})
