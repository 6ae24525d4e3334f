#: linked = LLVMAMDGPUCodeGen LLVMAMDGPUDesc LLVMCore
#: add = LLVMAMDGPUInfo
#: value = ROCM_LLVM
#: words = LLVMAMDGPUInfo
#: diff = ~1
set(ROCM_LLVM "LLVMAMDGPUCodeGen;LLVMAMDGPUDesc;LLVMCore")
set(GPU_TARGETS "gfx906;gfx90a")
