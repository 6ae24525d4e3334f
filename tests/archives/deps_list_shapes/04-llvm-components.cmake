#: linked = LLVMAnalysis LLVMCore LLVMSupport LLVMTarget
#: add = LLVMBitReader
#: value = LLVM_LINK_COMPONENTS
#: words = BitReader
#: diff = +1
set(LLVM_LINK_COMPONENTS
  Analysis
  Core
  Support
  Target
  )

set(TOOL_SOURCES main.cpp driver.cpp)
