# unsure
cmake_policy(SET CMP0140 NEW)
function(f)
  set(LIBS ${ARGN})
  return(PROPAGATE LIBS)
endfunction()
set(LIBS FooA FooB FooZ)
f(FooA FooB FooZ)
target_link_libraries(m PRIVATE ${LIBS})
