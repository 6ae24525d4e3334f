#: linked = LLVMAsmParser LLVMBitReader LLVMCore LLVMIRReader LLVMPasses LLVMTarget
#: add = LLVMMC
#: value = W
#: words = LLVMMC
#: diff = ~1
set(W LLVMAsmParser LLVMBitReader
      LLVMCore LLVMIRReader
      LLVMPasses LLVMTarget)
