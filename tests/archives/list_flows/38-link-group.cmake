# unsure
set(LIBS FooA FooB@ FooZ)
string(JOIN "," GROUP ${LIBS})
target_link_libraries(m PRIVATE "$<LINK_GROUP:RESCAN,${GROUP}>")
