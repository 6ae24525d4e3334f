//! The sandbox of a run. Before it reads audited files, the process drops the rights to start
//! programs, open connections, access other processes, and write outside of its output directories.
//! With `--root`, it also drops the right to read outside of the sysroot, the stages and the output
//! directories. A bug in a reader then cannot start a program, open a connection, or change the
//! content of other files.
//!
//! Landlock (Linux 5.13) restricts files, and seccomp restricts system calls. If the kernel does
//! not support or allow one of them, the run continues without it. Both apply to this thread and to
//! threads that it starts later, so the sandbox is entered before the thread pool starts.

use super::out::{self, WriteTarget};
use super::{Sandbox, SharedOptions};
use crate::order;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};
use seccompiler::{SeccompAction, SeccompFilter, apply_filter};
use std::collections::BTreeMap;
use std::path::Path;

/// System calls that fail with EPERM.
const REFUSED: &[libc::c_long] = &[
    // Programs, including those in memory without a path.
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_memfd_create,
    // Truncation by path. Landlock's right to truncate would slow down every open (see `costly`).
    libc::SYS_truncate,
    // Connections. io_uring would bypass the filter.
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_io_uring_setup,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kill,
    libc::SYS_rt_sigqueueinfo,
    // The system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
];

/// The newest set of Landlock rights. An older kernel enforces the rights that it knows.
const RIGHTS: ABI = ABI::V6;

/// Enters the sandbox, unless `--sandbox off` is given. `more` are output files of command-specific
/// options, such as `--why-extract`.
pub(super) fn enter(shared: &SharedOptions, more: &[&Path]) {
    if shared.sandbox == Sandbox::Off {
        return;
    }
    let readable: Vec<&Path> =
        shared.root.iter().chain(&shared.staged).map(AsRef::as_ref).collect();
    let readable = shared.root.is_some().then_some(&*readable);
    let written: Vec<&Path> = shared.written(more).collect();
    // An error means that the kernel lacks Landlock or seccomp: the run continues.
    let _ = restrict_files(readable, &written);
    let _ = restrict_calls();
}

/// Restricts files: the process can then write only in the directories of the files `written`, and
/// to pipes and devices among these files. If `readable` is given, the process can read only there
/// and below the paths in `readable`. The status says if the kernel enforces the rules.
fn restrict_files(
    readable: Option<&[&Path]>,
    written: &[&Path],
) -> Result<RulesetStatus, RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let unread = if readable.is_some() { BitFlags::EMPTY } else { read };
    // The kernel checks these two rights at each open, directory by directory up to the root. The
    // time of a walk would grow with the square of its depth.
    let costly = AccessFs::Truncate | AccessFs::IoctlDev;
    let handled = AccessFs::from_all(RIGHTS) & !unread & !costly;
    let mut rules = Ruleset::default()
        .handle_access(handled)?
        .handle_access(AccessNet::from_all(RIGHTS))?
        .scope(Scope::from_all(RIGHTS))?
        .create()?;
    // If a path cannot be opened now, the run reports an error when it reads or writes there.
    for path in readable.unwrap_or_default() {
        if let Ok(place) = PathFd::new(path) {
            rules = rules.add_rule(PathBeneath::new(place, read))?;
        }
    }
    let outputs = AccessFs::WriteFile
        | AccessFs::MakeReg
        | AccessFs::RemoveFile
        | AccessFs::Refer
        // A file of O_TMPFILE is opened for reading and writing.
        | AccessFs::ReadFile;
    for path in written {
        let target = out::target(path);
        if let Ok(place) = PathFd::new(target.path()) {
            let own = match target {
                WriteTarget::In(_) => outputs,
                WriteTarget::Itself(_) => outputs & AccessFs::from_file(RIGHTS),
            };
            rules = rules.add_rule(PathBeneath::new(place, own & handled))?;
        }
    }
    rules.restrict_self().map(|status| status.ruleset)
}

/// Makes the system calls of `REFUSED` fail.
fn restrict_calls() -> Result<(), seccompiler::Error> {
    #[allow(clippy::useless_conversion, reason = "c_long has 32 bits on some machines")]
    let rules: BTreeMap<i64, Vec<_>> =
        order::map(REFUSED.iter().map(|call| (i64::from(*call), Vec::new())));
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let arch = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?;
    apply_filter(&TryInto::<seccompiler::BpfProgram>::try_into(filter)?)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the tests do what the sandbox must refuse")]

    use super::{restrict_calls, restrict_files};
    use landlock::RulesetStatus;
    use std::fs::{self, File};
    use std::io::{self, ErrorKind};
    use std::net::TcpListener;
    use std::path::Path;
    use std::process::Command;

    /// Runs `work` in a new thread: only that thread is restricted.
    fn inside<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(work).join().expect("the work is done"))
    }

    fn is_refused<T>(result: io::Result<T>) -> bool {
        result.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
    }

    /// Restricts files; false if this kernel has no Landlock.
    fn restricts(readable: Option<&[&Path]>, written: &[&Path]) -> bool {
        let status = restrict_files(readable, written).expect("rules");
        status != RulesetStatus::NotEnforced
    }

    fn write(path: &Path) -> io::Result<()> {
        crate::cli::out::file(path, |out| out.write_all(b"report"))
    }

    #[test]
    fn no_program_is_started_and_no_connection_opened() {
        inside(|| {
            restrict_calls().expect("this kernel has seccomp");
            assert!(is_refused(Command::new("true").status()));
            assert!(is_refused(TcpListener::bind("127.0.0.1:0")));
            let in_memory = rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::empty());
            assert_eq!(in_memory.err(), Some(rustix::io::Errno::PERM));
        });
        assert!(Command::new("true").status().is_ok(), "other threads are not restricted");
    }

    #[test]
    fn only_outputs_are_written() {
        let dir = tempfile::tempdir().expect("a directory");
        let (out, other) = (dir.path().join("out"), dir.path().join("other"));
        for place in [&out, &other] {
            fs::create_dir(place).expect("a directory");
            fs::write(place.join("old"), "old").expect("a file");
        }
        let (report, old) = (out.join("report"), out.join("old"));
        inside(|| {
            let refuses = restricts(None, &[&report, &old, Path::new("/dev/null")]);
            assert!(write(&report).is_ok() && write(&old).is_ok());
            assert!(write(Path::new("/dev/null")).is_ok());
            assert_eq!(is_refused(write(&other.join("new"))), refuses);
            assert_eq!(is_refused(fs::write(other.join("old"), "")), refuses);
            assert_eq!(is_refused(fs::remove_file(other.join("old"))), refuses);
            assert_eq!(is_refused(fs::create_dir(out.join("dir"))), refuses);
            assert!(
                is_refused(Command::new("true").status()),
                "execute is a right of Landlock too"
            );
            assert!(File::open(other.join("old")).is_ok());
        });
        assert_eq!(fs::read(&old).expect("a report"), b"report");
    }

    #[test]
    fn a_root_bounds_reading() {
        let dir = tempfile::tempdir().expect("a directory");
        let (root, other) = (dir.path().join("root"), dir.path().join("other"));
        for place in [&root, &other] {
            fs::create_dir(place).expect("a directory");
            fs::write(place.join("file"), "text").expect("a file");
        }
        inside(|| {
            let refuses = restricts(Some(&[&*root]), &[&other.join("report")]);
            assert!(fs::read(root.join("file")).is_ok() && fs::read_dir(&root).is_ok());
            assert_eq!(is_refused(fs::read("/etc/passwd")), refuses);
            assert_eq!(is_refused(fs::read_dir("/etc")), refuses);
            assert_eq!(is_refused(fs::write(root.join("file"), "")), refuses);
            assert!(write(&other.join("report")).is_ok());
        });
    }
}
