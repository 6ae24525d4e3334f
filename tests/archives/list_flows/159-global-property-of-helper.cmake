# verified
function(x_add)
  set_property(GLOBAL APPEND PROPERTY P ${ARGN})
endfunction()
x_add(FooA FooB@)
x_add(FooZ)
get_property(L GLOBAL PROPERTY P)
target_link_libraries(m PRIVATE ${L})
