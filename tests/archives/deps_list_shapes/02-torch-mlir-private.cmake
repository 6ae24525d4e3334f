#: linked = MLIRArithDialect MLIRFuncDialect MLIRIR MLIRTensorDialect
#: add = MLIRMemRefDialect
#: value = TorchDemoConversion
#: words = MLIRMemRefDialect
#: diff = +1
set(MLIR_FOUND OFF)
set(CMAKE_BUILD_TYPE Release)
target_link_libraries(TorchDemoConversion
  PRIVATE
    MLIRArithDialect
    MLIRFuncDialect
    MLIRIR
    MLIRTensorDialect
  )
