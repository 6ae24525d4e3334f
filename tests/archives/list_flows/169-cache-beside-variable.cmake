# unsure
if(NOT DEFINED BESIDE)
  set(BESIDE FooA FooB FooZ)
endif()
function(f)
  set(BESIDE ${ARGN} CACHE INTERNAL "")
  target_link_libraries(m PRIVATE ${BESIDE})
endfunction()
f(FooA FooB FooZ)
