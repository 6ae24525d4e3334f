#: linked = LLVMCore LLVMAMDGPUInfo LLVMAMDGPUDesc
#: at_hand = LLVMX86Info LLVMX86Desc
#: add = LLVMAMDGPUUtils
#: value = TARGET_LIBS
#: words = LLVMAMDGPUUtils
#: diff = +1
set(GPU ON)
if(NOT GPU)
  set(TARGET_LIBS
    LLVMCore
    LLVMX86Desc
    LLVMX86Info
  )
else()
  set(TARGET_LIBS
    LLVMAMDGPUDesc
    LLVMAMDGPUInfo
    LLVMCore
  )
endif()
