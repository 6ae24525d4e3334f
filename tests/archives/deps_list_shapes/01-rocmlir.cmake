#: linked = LLVMAMDGPUInfo LLVMAggressiveInstCombine lldCommon lldELF
#: add = LLVMX86Info LLVMX86Desc
#: value = __mlir_libs
#: words = LLVMX86Desc LLVMX86Info
#: diff = +2
### Generated list, do not edit by hand
set(__mlir_libs
LLVMAMDGPUInfo
LLVMAggressiveInstCombine
lldCommon
lldELF
)
set(__other_libs
DemoCodegen
)
