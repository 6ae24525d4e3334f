//! Makes loaders without a binary. The audit assumes such a loader in two cases: this system has no
//! loader for an object, or the policy is a whitelist. With a whitelist, the audit ignores the
//! files of this machine. Only [`super::Loaders`] uses this module.

use super::rules::{Family, Loader};
use crate::format::elf::{GlibcVersion, MuslVersion, Object, Target};
use crate::id::{StrId, Strings};
use crate::plan::{Cpu, Plan};
use crate::policy::Libc;
use crate::resolve::{MachineRow, hwcaps};

/// The glibc release whose rules are assumed. The search rules that differ between releases do not
/// matter for files of one prefix.
const GLIBC: GlibcVersion = GlibcVersion::new(2, 41);
/// The musl release whose rules are assumed.
const MUSL: MuslVersion = MuslVersion::new(1, 2, 5);

/// The C library of an assumed loader for `object`: `expected`, or else glibc. Without `--loader`,
/// a library without PT_INTERP gets musl's loader if all platforms of the policy use musl, even if
/// the library needs glibc.
pub(super) fn libc(plan: &Plan, object: &Object, expected: Option<Libc>) -> Libc {
    let platforms = &plan.policy.platforms;
    let is_of_platforms = plan.loader.is_none() && object.interp.is_none();
    let is_for_musl =
        || !platforms.is_empty() && platforms.iter().all(|one| one.libc == Libc::Musl);
    match expected {
        Some(Libc::Musl) => Libc::Musl,
        _ if is_of_platforms && is_for_musl() => Libc::Musl,
        _ => Libc::Glibc,
    }
}

/// A loader at `path`, with the rules of `libc` and the default directories of `machine`.
pub(super) fn loader(
    plan: &Plan,
    strings: &mut Strings,
    path: StrId,
    target: Target,
    machine: MachineRow,
    libc: Libc,
) -> Loader {
    let (family, dirs): (Family, &[&str]) = match libc {
        Libc::Glibc => (Family::Glibc, machine.dirs),
        Libc::Musl => (Family::Musl(MUSL), &["/lib", "/usr/local/lib", "/usr/lib"]),
    };
    // Unless the plan states a processor, the oldest processor is assumed, because the files may
    // run on another machine.
    let cpu = if plan.cpu_stated { &plan.cpu } else { &Cpu::BASELINE };
    Loader {
        family,
        path,
        file: None,
        target,
        machine,
        release: if libc == Libc::Glibc { GLIBC } else { GlibcVersion::default() },
        system_dirs: dirs.iter().map(|dir| strings.id(dir.as_bytes())).collect(),
        lib: b"lib".to_vec(),
        platform: hwcaps::platform(machine, cpu),
        subdirs: hwcaps::subdirs(machine, cpu, GLIBC).iter().map(|dir| strings.id(dir)).collect(),
        active: hwcaps::active(machine, cpu, GLIBC),
        cache_path: None,
        cache: None,
        preload: Vec::new(),
        package_cache: false,
        is_absent: false,
        config_faults: Vec::new(),
        guessed: None,
    }
}
