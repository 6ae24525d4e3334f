# verified
set(LIBS libFooA libFooB@ libFooZ)
string(REPLACE "lib" "" LIBS "${LIBS}")
target_link_libraries(m PRIVATE ${LIBS})
