# verified
function(collect out)
  set(${out} FooA FooB@ FooZ PARENT_SCOPE)
endfunction()
collect(LIBS)
target_link_libraries(m PRIVATE ${LIBS})
