# unsure
function(f)
  unset(LIBS PARENT_SCOPE)
endfunction()
set(LIBS FooA FooB FooZ)
f()
target_link_libraries(m PRIVATE ${LIBS} FooA FooB@ FooZ)
