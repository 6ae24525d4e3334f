#: linked = MLIRFuncDialect MLIRIR MLIRPass
#: add = MLIRLinalgDialect
#: value = DemoPasses
#: words = MLIRLinalgDialect
#: diff = +1
add_mlir_library(DemoPasses
  Passes.cpp
  Lower.cpp

  ADDITIONAL_HEADER_DIRS
  ${PROJECT_SOURCE_DIR}/include

  DEPENDS
  DemoPassIncGen

  LINK_COMPONENTS
  Core

  LINK_LIBS PUBLIC
  MLIRFuncDialect
  MLIRIR
  MLIRPass
)
