// Code for a GPU out of LLVM's assembly language, and its link by lld in this process: what refers to
// every target that LLVM was built with.
#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
LLD_HAS_DRIVER(elf)

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
}

int emit(const char *text, const char *object) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmPrinter();
  llvm::LLVMContext context;
  llvm::SMDiagnostic mistake;
  auto module = llvm::parseAssemblyString(text, mistake, context);
  if (!module) return 1;
  std::string error;
  auto *target = llvm::TargetRegistry::lookupTarget("amdgcn-amd-amdhsa", error);
  if (!target) return 2;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine("amdgcn-amd-amdhsa", "gfx90a", "", {}, llvm::Reloc::PIC_));
  module->setTargetTriple("amdgcn-amd-amdhsa");
  module->setDataLayout(machine->createDataLayout());
  std::error_code failed;
  llvm::raw_fd_ostream file(object, failed);
  llvm::legacy::PassManager passes;
  if (failed || machine->addPassesToEmitFile(passes, file, nullptr, llvm::CodeGenFileType::ObjectFile))
    return 3;
  passes.run(*module);
  return 0;
}

int link(const char *object, const char *out) {
  const char *words[] = {"ld.lld", "-shared", object, "-o", out};
  bool good = lld::elf::link(words, llvm::outs(), llvm::errs(), false, false);
  lld::CommonLinkerContext::destroy();
  return good ? 0 : 4;
}
