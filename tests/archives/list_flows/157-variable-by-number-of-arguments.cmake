# unsure
function(x_set out)
  if(ARGC LESS 5)
    set(${out} ${ARGN} PARENT_SCOPE)
  endif()
endfunction()
x_set(L FooA FooB FooZ)
target_link_libraries(m PRIVATE ${L})
