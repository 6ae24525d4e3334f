# verified
function(add_to var)
  list(APPEND ${var} ${ARGN})
  set(${var} ${${var}} PARENT_SCOPE)
endfunction()
add_to(LIBS FooA FooB@ FooZ)
target_link_libraries(m PRIVATE ${LIBS})
