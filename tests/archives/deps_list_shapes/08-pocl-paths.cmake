#: linked = clangBasic clangLex clangAST
#: add = clangAnalysis
#: value = CLANG_LIBFILES
#: words = /opt/llvm/lib/libclangAnalysis.a
#: diff = +1
set(LIBDIR /opt/llvm/lib)
set(CLANG_LIBFILES
    ${LIBDIR}/libclangAST.a
    ${LIBDIR}/libclangBasic.a
    ${LIBDIR}/libclangLex.a
)
