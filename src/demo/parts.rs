//! The parts of the demonstration: archives, their objects, and the references between them. The
//! names are those of the real case, with one object in place of hundreds.

use super::{archive, object};

/// An object file.
pub(super) struct Object {
    pub(super) name: &'static str,
    pub(super) defines: &'static [&'static str],
    /// The names that its first function calls.
    pub(super) refers: &'static [&'static str],
}

impl Object {
    pub(super) fn bytes(&self) -> Vec<u8> {
        object::write(self.defines, self.refers)
    }
}

/// An archive of LLVM or of rocMLIR.
pub(super) struct Archive {
    pub(super) dir: &'static str,
    pub(super) name: &'static str,
    pub(super) objects: &'static [Object],
}

impl Archive {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let members: Vec<(&str, Vec<u8>, &[&str])> = self
            .objects
            .iter()
            .map(|object| (object.name, object.bytes(), object.defines))
            .collect();
        archive::write(&members)
    }
}

const LLVM: &str = "llvm/lib";
const ROCK: &str = "build/lib";

/// The path of the list below the directory of the demonstration.
pub(super) const LIST: &str = "librockcompiler_deps.cmake";

/// The library's own object, which is outside of the archives.
pub(super) const LIBRARY: Object =
    Object { name: "miopen.o", defines: &["miopenCompileKernel"], refers: &["mlirRockCompile"] };

/// All archives, in the order of their names.
pub(super) const ARCHIVES: &[Archive] = &[
    Archive {
        dir: LLVM,
        name: "LLVMAMDGPUCodeGen",
        objects: &[
            Object {
                name: "AMDGPUTargetMachine.cpp.o",
                defines: &["LLVMInitializeAMDGPUTarget"],
                refers: &["llvmRegisterTarget", "llvmAMDGPUInstructions"],
            },
            Object {
                name: "AMDGPUInstrInfo.cpp.o",
                defines: &["llvmAMDGPUInstructions"],
                refers: &["llvmReport"],
            },
        ],
    },
    Archive {
        dir: LLVM,
        name: "LLVMAMDGPUInfo",
        objects: &[Object {
            name: "AMDGPUTargetInfo.cpp.o",
            defines: &["LLVMInitializeAMDGPUTargetInfo"],
            refers: &["llvmRegisterTarget"],
        }],
    },
    Archive {
        dir: LLVM,
        name: "LLVMSupport",
        objects: &[
            Object {
                name: "TargetRegistry.cpp.o",
                defines: &["llvmRegisterTarget"],
                refers: &["llvmReport"],
            },
            Object { name: "ErrorHandling.cpp.o", defines: &["llvmReport"], refers: &[] },
        ],
    },
    Archive {
        dir: LLVM,
        name: "LLVMX86AsmParser",
        objects: &[Object {
            name: "X86AsmParser.cpp.o",
            defines: &["LLVMInitializeX86AsmParser"],
            refers: &["llvmRegisterTarget", "llvmX86Registers"],
        }],
    },
    Archive {
        dir: LLVM,
        name: "LLVMX86CodeGen",
        objects: &[
            Object {
                name: "X86TargetMachine.cpp.o",
                defines: &["LLVMInitializeX86Target"],
                refers: &["llvmRegisterTarget", "llvmX86Registers"],
            },
            Object {
                name: "X86AsmPrinter.cpp.o",
                defines: &["LLVMInitializeX86AsmPrinter"],
                refers: &["llvmRegisterTarget", "llvmX86Print"],
            },
        ],
    },
    Archive {
        dir: LLVM,
        name: "LLVMX86Desc",
        objects: &[
            Object {
                name: "X86MCTargetDesc.cpp.o",
                defines: &["LLVMInitializeX86TargetMC", "llvmX86Registers"],
                refers: &["LLVMInitializeX86TargetInfo", "llvmReport"],
            },
            Object {
                name: "X86ATTInstPrinter.cpp.o",
                defines: &["llvmX86Print"],
                refers: &["llvmX86Registers"],
            },
        ],
    },
    Archive {
        dir: LLVM,
        name: "LLVMX86Info",
        objects: &[Object {
            name: "X86TargetInfo.cpp.o",
            defines: &["LLVMInitializeX86TargetInfo"],
            refers: &["llvmRegisterTarget"],
        }],
    },
    Archive {
        dir: ROCK,
        name: "MLIRRockThin",
        objects: &[Object {
            name: "rocmlir-lib.cpp.o",
            defines: &["mlirRockCompile"],
            // The names that `InitializeNativeTarget` calls, and the linker.
            refers: &[
                "LLVMInitializeX86Target",
                "LLVMInitializeX86TargetInfo",
                "LLVMInitializeX86TargetMC",
                "lldELFLink",
            ],
        }],
    },
    Archive {
        dir: LLVM,
        name: "lldELF",
        objects: &[Object {
            name: "Driver.cpp.o",
            defines: &["lldELFLink"],
            // The names that `InitializeAllTargets` and similar functions call.
            refers: &[
                "LLVMInitializeAMDGPUTarget",
                "LLVMInitializeAMDGPUTargetInfo",
                "LLVMInitializeX86AsmParser",
                "LLVMInitializeX86AsmPrinter",
                "LLVMInitializeX86Target",
                "LLVMInitializeX86TargetInfo",
                "LLVMInitializeX86TargetMC",
                "llvmReport",
            ],
        }],
    },
];

/// The list as a build without the X86 target would write it.
pub(super) fn list() -> String {
    let names = |dir: &str| -> String {
        let archives = ARCHIVES.iter().filter(|archive| archive.dir == dir);
        let listed = archives.filter(|archive| !archive.name.starts_with("LLVMX86"));
        listed.flat_map(|archive| [archive.name, "\n"]).collect()
    };
    format!(
        "### The archives that {} is merged from, sorted.\nset(__mlir_libs\n{})\n\
         set(__rocmlir_libs\n{})\n",
        super::MERGED,
        names(LLVM),
        names(ROCK)
    )
}
