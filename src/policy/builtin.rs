//! Policies that are part of the program: each is a file under `policies/` and a row here. Comments
//! in these files give the reason for each line. The files are read like any other policy.

/// A policy that is selected by name, not by path.
#[derive(Debug)]
pub struct BuiltIn {
    /// The name for `--policy` and `extends`.
    pub name: &'static str,
    /// The content of the policy file, in TOML.
    pub text: &'static str,
}

/// The policy that is merged before all others.
pub const DEFAULT: &BuiltIn =
    &BuiltIn { name: "default", text: include_str!("../../policies/default.toml") };

/// All built-in policies, except the platforms of auditwheel (see `wheel`).
pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn { name: DEFAULT.name, text: DEFAULT.text },
    BuiltIn { name: "nix", text: include_str!("../../policies/nix.toml") },
    BuiltIn { name: "guix", text: include_str!("../../policies/guix.toml") },
    BuiltIn { name: "debian", text: include_str!("../../policies/debian.toml") },
    BuiltIn { name: "gentoo", text: include_str!("../../policies/gentoo.toml") },
    BuiltIn { name: "rocm", text: include_str!("../../policies/rocm.toml") },
    BuiltIn { name: "rocm-6.0", text: include_str!("../../policies/rocm-6.0.toml") },
    BuiltIn { name: "rocm-6.4", text: include_str!("../../policies/rocm-6.4.toml") },
    BuiltIn { name: "rocm-6.4.3", text: include_str!("../../policies/rocm-6.4.3.toml") },
    BuiltIn { name: "rocm-7", text: include_str!("../../policies/rocm-7.toml") },
    BuiltIn {
        name: "librockcompiler-x86",
        text: include_str!("../../policies/librockcompiler-x86.toml"),
    },
];

/// The policy of [`BUILT_IN`] with this name; `None` if there is none.
pub fn find(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|policy| policy.name == name)
}
