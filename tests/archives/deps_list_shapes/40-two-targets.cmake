#: linked = MLIRIR MLIRPass MLIRSupport clangAST
#: add = MLIRParser
#: value = opt_demo
#: words = MLIRParser
#: diff = +1
target_link_libraries(lint_demo PRIVATE clangAST)
target_link_libraries(opt_demo
  PUBLIC
  clangAST
  PRIVATE
  MLIRIR
  MLIRPass
  MLIRSupport
  INTERFACE
  MLIRIR)
