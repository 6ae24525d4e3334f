# unsure
function(add v)
  set(${v} ${ARGN} ${${v}} PARENT_SCOPE)
endfunction()
add(L FooA FooB)
add(L FooZ)
target_link_libraries(m PRIVATE ${L})
