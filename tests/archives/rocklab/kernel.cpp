// The library's one function: a kernel in MLIR, as LLVM's assembly language, as a code object.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

int emit(const char *text, const char *object);
int link(const char *object, const char *out);

extern "C" int kernel(const char *object, const char *out) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::LLVM::LLVMDialect, mlir::ROCDL::ROCDLDialect>();
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "llvm.func @twice(%a: i32) -> i32 { %0 = llvm.add %a, %a : i32 llvm.return %0 : i32 }",
      &context);
  if (!module) return 10;
  llvm::LLVMContext llvm;
  auto lowered = mlir::translateModuleToLLVMIR(*module, llvm);
  if (!lowered) return 11;
  std::string text;
  llvm::raw_string_ostream(text) << *lowered;
  if (int failed = emit(text.c_str(), object)) return failed;
  return link(object, out);
}
