//! Recognises paths that lead to a different file in each process: `/proc/self`, `/dev/fd` and the
//! like. At such a path, the loader would find another file than linkaudit does. This module also
//! recognises the kernel's virtual file systems.

use rustix::fs::{Mode, OFlags, ResolveFlags, StatFs};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

/// `PROC_SUPER_MAGIC` of `linux/magic.h`.
const PROC: u64 = 0x9fa0;
/// Magic numbers of `linux/magic.h`: proc, sysfs, debugfs, tracefs, cgroup, cgroup2, securityfs,
/// devpts, bpf, pstore, efivarfs, configfs, selinuxfs, mqueue, binfmt_misc, hugetlbfs, fusectl,
/// nsfs.
const KERNEL: [u64; 18] = [
    PROC,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x0027_e0eb,
    0x6367_7270,
    0x7363_6673,
    0x1cd1,
    0xcafe_4a11,
    0x6165_676c,
    0xde5e_81e4,
    0x6265_6570,
    0xf97c_ff8c,
    0x1980_0202,
    0x4249_4e4d,
    0x9584_58f6,
    0x6573_5543,
    0x6e73_6673,
];
/// Names in `/dev` that lead to descriptors of the process.
const DESCRIPTORS: [&[u8]; 4] = [b"fd", b"stdin", b"stdout", b"stderr"];

/// True if an absolute path, by its text alone, leads to a different file in each process
/// (`/proc/self`, `/dev/fd`). The path need not exist.
pub(crate) fn is_named(path: &Path) -> bool {
    let mut parts: Vec<&[u8]> = Vec::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(part) => parts.push(part.as_bytes()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    let own = std::process::id().to_string();
    match parts.get(..2) {
        Some([b"proc", name]) => {
            matches!(*name, b"self" | b"thread-self") || *name == own.as_bytes()
        }
        Some([b"dev", name]) => DESCRIPTORS.contains(name),
        _ => false,
    }
}

/// True if `path` passes through a magic link of procfs, or ends in procfs. The kernel resolves the
/// path, so no link is missed.
pub(super) fn is_reached(dir: BorrowedFd<'_>, path: &Path, resolve: ResolveFlags) -> bool {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let open = |resolve| rustix::fs::openat2(dir, path, flags, Mode::empty(), resolve);
    match open(resolve | ResolveFlags::NO_MAGICLINKS) {
        Ok(file) => rustix::fs::fstatfs(&file).is_ok_and(|stat| is_one_of(&[PROC], &stat)),
        // ELOOP means a magic link or a loop of links. A loop fails without NO_MAGICLINKS too.
        Err(Errno::LOOP) => !matches!(open(resolve), Err(Errno::LOOP)),
        Err(_) => false,
    }
}

/// True for a virtual file system of the kernel, such as procfs or sysfs.
pub(super) fn is_of_kernel(stat: Result<StatFs, Errno>) -> bool {
    stat.is_ok_and(|stat| is_one_of(&KERNEL, &stat))
}

fn is_one_of(magics: &[u64], stat: &StatFs) -> bool {
    u64::try_from(stat.f_type).is_ok_and(|magic| magics.contains(&magic))
}

#[cfg(test)]
mod tests {
    use super::is_named;
    use std::path::Path;

    #[test]
    fn names_of_the_own_process() {
        let own = format!("/proc/{}/cwd/lib.so", std::process::id());
        for path in ["/proc/self", "//proc/./self/fd/3", "/x/../dev/fd/3", "/dev/stdin", &own] {
            assert!(is_named(Path::new(path)), "{path}");
        }
        for path in ["/proc/1/exe", "/proc", "/dev/null", "/a/proc/self", "/dev"] {
            assert!(!is_named(Path::new(path)), "{path}");
        }
    }
}
