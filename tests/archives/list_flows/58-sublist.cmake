# unsure
set(LIBS FooA FooB FooZ@)
list(SUBLIST LIBS 0 3 SOME)
target_link_libraries(m PRIVATE ${SOME})
