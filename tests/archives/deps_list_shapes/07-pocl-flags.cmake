#: linked = LLVMCore LLVMIRReader LLVMPasses
#: add = LLVMLinker
#: value = POCL_LLVM_FLAGS
#: words = -lLLVMLinker
#: diff = ~1
set(POCL_LLVM_FLAGS -lLLVMPasses -lLLVMIRReader -lLLVMCore -ldl -pthread)
set(POCL_VERSION 6.1)
