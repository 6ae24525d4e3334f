# verified
macro(x_link)
  target_link_libraries(${ARGV})
endmacro()
x_link(m PRIVATE FooA FooB@ FooZ)
