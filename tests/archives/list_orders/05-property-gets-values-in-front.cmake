# unsure
function(add)
  get_property(o GLOBAL PROPERTY P)
  set_property(GLOBAL PROPERTY P ${ARGN} ${o})
endfunction()
add(FooA FooB)
add(FooZ)
get_property(v GLOBAL PROPERTY P)
target_link_libraries(m PRIVATE ${v})
