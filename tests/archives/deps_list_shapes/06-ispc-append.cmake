#: linked = clangFrontend clangDriver clangParse clangSema clangAST
#: add = clangSerialization
#: value = CLANG_LIBRARY_LIST
#: words = clangSerialization
#: diff = ~1
set(CLANG_LIBRARY_LIST clangFrontend clangDriver)
list(APPEND CLANG_LIBRARY_LIST clangParse clangSema clangAST)
