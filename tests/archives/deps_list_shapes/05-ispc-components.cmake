#: linked = LLVMCore LLVMOption LLVMBitReader LLVMipo LLVMLinker
#: add = LLVMBitWriter
#: value = LLVM_COMPONENTS
#: words = bitwriter
#: diff = ~1
# Components of the compiler, without the targets.
set(LLVM_COMPONENTS core ipo bitreader linker option)
set(TARGETS_ENABLED X86)
