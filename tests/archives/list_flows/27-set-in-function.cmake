# verified
function(name_libs)
  set(LIBS FooA FooB@ FooZ PARENT_SCOPE)
endfunction()
name_libs()
target_link_libraries(m PRIVATE ${LIBS})
