//! The parts of the demonstration: archives, their objects, and the references between them. The
//! names are those of rocMLIR and of the LLVM archives that it needs. An archive here has one or
//! two objects; the real archives have hundreds.

use super::{archive, object};

/// An object file of the demonstration: the names that it defines, and the names to which it
/// refers.
pub(super) struct DemoObject {
    pub(super) name: &'static str,
    pub(super) defines: &'static [&'static str],
    /// The names that its first function calls.
    pub(super) refers: &'static [&'static str],
}

impl DemoObject {
    pub(super) fn bytes(&self) -> Vec<u8> {
        object::write(self.defines, self.refers)
    }
}

/// An archive of LLVM or of rocMLIR.
pub(super) struct DemoArchive {
    pub(super) dir: &'static str,
    pub(super) name: &'static str,
    pub(super) objects: &'static [DemoObject],
}

impl DemoArchive {
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

/// The path of the list of archives to merge, below the directory of the demonstration.
pub(super) const LIST: &str = "librockcompiler_deps.cmake";

/// The object of the linked library itself. It is outside of the archives.
pub(super) const LIBRARY: DemoObject = DemoObject {
    name: "miopen.o",
    defines: &["miopenCompileKernel"],
    refers: &["mlirRockCompile"],
};

/// All archives, in the order of their names.
pub(super) const ARCHIVES: &[DemoArchive] = &[
    DemoArchive {
        dir: LLVM,
        name: "LLVMAMDGPUCodeGen",
        objects: &[
            DemoObject {
                name: "AMDGPUTargetMachine.cpp.o",
                defines: &["LLVMInitializeAMDGPUTarget"],
                refers: &["llvmRegisterTarget", "llvmAMDGPUInstructions"],
            },
            DemoObject {
                name: "AMDGPUInstrInfo.cpp.o",
                defines: &["llvmAMDGPUInstructions"],
                refers: &["llvmReport"],
            },
        ],
    },
    DemoArchive {
        dir: LLVM,
        name: "LLVMAMDGPUInfo",
        objects: &[DemoObject {
            name: "AMDGPUTargetInfo.cpp.o",
            defines: &["LLVMInitializeAMDGPUTargetInfo"],
            refers: &["llvmRegisterTarget"],
        }],
    },
    DemoArchive {
        dir: LLVM,
        name: "LLVMSupport",
        objects: &[
            DemoObject {
                name: "TargetRegistry.cpp.o",
                defines: &["llvmRegisterTarget"],
                refers: &["llvmReport"],
            },
            DemoObject { name: "ErrorHandling.cpp.o", defines: &["llvmReport"], refers: &[] },
        ],
    },
    DemoArchive {
        dir: LLVM,
        name: "LLVMX86AsmParser",
        objects: &[DemoObject {
            name: "X86AsmParser.cpp.o",
            defines: &["LLVMInitializeX86AsmParser"],
            refers: &["llvmRegisterTarget", "llvmX86Registers"],
        }],
    },
    DemoArchive {
        dir: LLVM,
        name: "LLVMX86CodeGen",
        objects: &[
            DemoObject {
                name: "X86TargetMachine.cpp.o",
                defines: &["LLVMInitializeX86Target"],
                refers: &["llvmRegisterTarget", "llvmX86Registers"],
            },
            DemoObject {
                name: "X86AsmPrinter.cpp.o",
                defines: &["LLVMInitializeX86AsmPrinter"],
                refers: &["llvmRegisterTarget", "llvmX86Print"],
            },
        ],
    },
    DemoArchive {
        dir: LLVM,
        name: "LLVMX86Desc",
        objects: &[
            DemoObject {
                name: "X86MCTargetDesc.cpp.o",
                defines: &["LLVMInitializeX86TargetMC", "llvmX86Registers"],
                refers: &["LLVMInitializeX86TargetInfo", "llvmReport"],
            },
            DemoObject {
                name: "X86ATTInstPrinter.cpp.o",
                defines: &["llvmX86Print"],
                refers: &["llvmX86Registers"],
            },
        ],
    },
    DemoArchive {
        dir: LLVM,
        name: "LLVMX86Info",
        objects: &[DemoObject {
            name: "X86TargetInfo.cpp.o",
            defines: &["LLVMInitializeX86TargetInfo"],
            refers: &["llvmRegisterTarget"],
        }],
    },
    DemoArchive {
        dir: ROCK,
        name: "MLIRRockThin",
        objects: &[DemoObject {
            name: "rocmlir-lib.cpp.o",
            defines: &["mlirRockCompile"],
            // The functions that `InitializeNativeTarget` calls, and lld's entry function.
            refers: &[
                "LLVMInitializeX86Target",
                "LLVMInitializeX86TargetInfo",
                "LLVMInitializeX86TargetMC",
                "lldELFLink",
            ],
        }],
    },
    DemoArchive {
        dir: LLVM,
        name: "lldELF",
        objects: &[DemoObject {
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

/// The text of the list of archives. It omits the X86 archives, as a build without the X86 target
/// does.
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
