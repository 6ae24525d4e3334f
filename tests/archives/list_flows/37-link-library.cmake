# verified
set(LIBS FooA FooB@ FooZ)
target_link_libraries(m PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,${LIBS}>")
