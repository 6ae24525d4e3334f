/* A library that calls two functions of LLVM. It was linked without the archives that define them,
   unless fixed.h is there. */
#if __has_include("fixed.h")
#include "fixed.h"
#else
void LLVMInitializeX86Target(void);
void LLVMInitializeX86TargetInfo(void);
#endif

int demo_create(void) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  return 0;
}

int demo_version(void) { return 1; }
