//! Emitters: a fix plan written for another tool. An emitter is one file and one row in
//! [`EMITTERS`]. It formats the plan and decides nothing. If a format cannot represent a name,
//! the emitter skips the name and returns it as refused, and the run reports the name.

mod checklist;
mod cmake_deps;
mod cmake_install;
mod first_policy;
mod gpu_cmake;
mod gpu_gentoo;
mod gpu_nix;
mod gpu_packages;
mod ldflags;
mod link_line;
mod mri;
mod patchelf;
mod pkg_config;
mod policy_waivers;
mod rebuild_order;

pub use first_policy::{first_policy, is_about_waiver};

use crate::fix::fix_plan::FixPlan;
use crate::report::model::Report;
use crate::report::{NamedFormat, Paths};

/// The input of an emitter.
pub struct Emission<'a> {
    /// The fix plan.
    pub remedy: &'a FixPlan,
    /// The report with the findings that the plan fixes.
    pub report: &'a Report,
    /// Translates paths of audited files, such as installed paths to paths below a stage.
    pub paths: &'a Paths,
}

/// A name that a format cannot represent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The name, as raw bytes.
    pub name: Vec<u8>,
    /// The reason, as the end of a sentence about the name: `has a control character`.
    pub reason: &'static str,
}

/// The output of an emitter.
#[derive(Debug, Default)]
pub struct Emitted {
    /// The content of the file.
    pub bytes: Vec<u8>,
    /// Names that the format cannot represent, and that `bytes` therefore lacks.
    pub refused: Vec<Refused>,
}

impl Emitted {
    fn refuse(&mut self, name: &[u8], reason: &'static str) {
        self.refused.push(Refused { name: name.to_vec(), reason });
    }
}

/// One output format for fix plans.
pub struct Emitter {
    /// The name of the format in `--emit` and `-o NAME=FILE`.
    pub name: &'static str,
    /// True if the format changes a list of archives. The run fails if no list is given.
    pub needs_list: bool,
    /// True if the format requires a merged archive, which the run must then find.
    pub needs_archive: bool,
    /// True if the format reads [`Report::files`], which the run otherwise leaves empty.
    pub needs_files: bool,
    /// Writes the fix plan in this format.
    pub render: fn(&Emission<'_>) -> Emitted,
}

impl NamedFormat for Emitter {
    fn name(&self) -> &'static str {
        self.name
    }
}

/// All formats for fix plans, in the order in which error messages list them.
pub const EMITTERS: &[Emitter] = &[
    Emitter {
        name: "cmake-deps",
        needs_list: true,
        needs_archive: false,
        needs_files: false,
        render: cmake_deps::render,
    },
    Emitter {
        name: "mri",
        needs_list: false,
        needs_archive: true,
        needs_files: false,
        render: mri::render,
    },
    Emitter {
        name: "ldflags",
        needs_list: false,
        needs_archive: false,
        needs_files: false,
        render: ldflags::render,
    },
    Emitter {
        name: "link-line",
        needs_list: false,
        needs_archive: false,
        needs_files: false,
        render: link_line::render,
    },
    Emitter {
        name: "pkg-config",
        needs_list: false,
        needs_archive: false,
        needs_files: false,
        render: pkg_config::render,
    },
    Emitter {
        name: "patchelf",
        needs_list: false,
        needs_archive: false,
        needs_files: false,
        render: patchelf::render,
    },
    Emitter {
        name: "policy-waivers",
        needs_list: false,
        needs_archive: false,
        needs_files: false,
        render: policy_waivers::render,
    },
    Emitter {
        name: "checklist",
        needs_list: false,
        needs_archive: false,
        needs_files: false,
        render: checklist::render,
    },
    Emitter {
        name: "cmake-install",
        needs_list: false,
        needs_archive: false,
        needs_files: false,
        render: cmake_install::render,
    },
    Emitter {
        name: "gpu-cmake",
        needs_list: false,
        needs_archive: false,
        needs_files: true,
        render: gpu_cmake::render,
    },
    Emitter {
        name: "gpu-nix",
        needs_list: false,
        needs_archive: false,
        needs_files: true,
        render: gpu_nix::render,
    },
    Emitter {
        name: "gpu-gentoo",
        needs_list: false,
        needs_archive: false,
        needs_files: true,
        render: gpu_gentoo::render,
    },
    Emitter {
        name: "rebuild-order",
        needs_list: false,
        needs_archive: false,
        needs_files: true,
        render: rebuild_order::render,
    },
];
