# verified
function(x_link t)
  list(GET ARGN 0 first)
  list(SUBLIST ARGN 18446744073709551615 -1 none)
  target_link_libraries(${t} PRIVATE ${first} ${ARGN})
endfunction()
target_link_libraries(m PRIVATE FooA FooB@ FooZ)
