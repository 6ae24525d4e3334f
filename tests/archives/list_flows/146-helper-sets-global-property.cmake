# verified
function(x_libs)
  set_property(GLOBAL APPEND PROPERTY X_LIBS ${ARGN})
endfunction()
x_libs(FooA FooB@ FooZ)
get_property(L GLOBAL PROPERTY X_LIBS)
target_link_libraries(m PRIVATE ${L})
