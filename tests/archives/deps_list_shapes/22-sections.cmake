#: linked = LLVMCore LLVMSupport MLIRIR MLIRPass clangAST
#: add = MLIRParser LLVMDemangle
#: value = ALL_LIBS
#: words = LLVMDemangle MLIRParser
#: diff = +2
set(ALL_LIBS
  # MLIR
  MLIRIR
  MLIRPass

  # LLVM
  LLVMCore
  LLVMSupport

  # clang
  clangAST
)
