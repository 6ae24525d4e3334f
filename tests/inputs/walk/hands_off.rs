//! An audit only reads: it starts no program, changes no file, and uses no network.
//!
//! The tree has files that attacks made other tools run: an interpreter and an audit library that
//! leave a mark, and programs named like the tools that a script would call.

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use super::strace;
use crate::support::{self, Lab};

const MARK: &str = "__attribute__((constructor)) static void run(void) { \
    __builtin_fclose(fopen(\"$MARK\", \"w\")); }";

fn trap(lab: &Lab) {
    let mark = lab.path("MARK").display().to_string();
    let source = format!(
        "#include <stdio.h>\n{} unsigned la_version(unsigned v) {{ return v; }} int f(void) {{ return 0; }}",
        MARK.replace("__builtin_fclose", "fclose").replace("$MARK", &mark)
    );
    lab.so("tree/lib/libtrap.so", &source, &["-Wl,-soname,libtrap.so"]);
    let uses = "int f(void); int main(void) { return f(); }";
    let rpath = "-Wl,-rpath,$ORIGIN/../lib";
    let lib = "$PWD/tree/lib/libtrap.so";
    lab.exe("tree/bin/audit", uses, &[lib, rpath, "-Wl,--audit=$PWD/tree/lib/libtrap.so"]);
    lab.exe("tree/bin/depaudit", uses, &[lib, rpath, "-Wl,-P,$PWD/tree/lib/libtrap.so"]);
    lab.exe("tree/bin/filter", uses, &[lib, rpath, "-Wl,-z,lazy"]);
    lab.so("tree/lib/libfilter.so", "int g(void){return 0;}", &["-Wl,-f,libtrap.so", rpath]);
    lab.write("interp", format!("#!/bin/sh\n: > {mark}\n"));
    executable(&lab.path("interp"));
    lab.exe("tree/bin/interp", uses, &[lib, rpath, "-Wl,--dynamic-linker=$PWD/interp"]);
    for tool in ["ldd", "ld.so", "readelf", "objdump", "file", "nix", "nix-store", "cmake", "sh"] {
        let decoy = lab.write(&format!("tree/bin/{tool}"), format!("#!/bin/sh\n: > {mark}\n"));
        executable(&decoy);
    }
    lab.write("tree/lib/libscript.so", "GROUP ( libtrap.so AS_NEEDED ( -ltrap ) )\n");
    lab.write("tree/lib/Config.cmake", format!("file(WRITE \"{mark}\" x)\n"));
}

fn executable(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("chmod");
}

/// All properties of a tree that a write would change.
fn state(top: &Path) -> BTreeSet<String> {
    let entries = walkdir::WalkDir::new(top).into_iter().filter_map(Result::ok);
    entries
        .map(|entry| {
            let m = entry.metadata().expect("it can be looked at");
            let times = [m.mtime(), m.mtime_nsec(), m.ctime(), m.ctime_nsec()];
            format!("{} {} {:o} {} {times:?}", entry.path().display(), m.ino(), m.mode(), m.len())
        })
        .collect()
}

#[test]
fn nothing_is_executed_written_or_called() {
    if !support::has("strace") {
        return support::skip("nothing_is_executed_written_or_called", "there is no strace");
    }
    let lab = Lab::new();
    trap(&lab);
    let before = state(&lab.root());
    let runs: [&[&str]; 4] = [
        &["check", "tree"],
        &["check", "--format", "json", "--facts", "tree"],
        &["check", "--as-ldd", "--format", "ldd", "tree"],
        &["--lib-path", "tree/lib", "tree/bin/audit", "tree/bin/interp"],
    ];
    for args in runs {
        let (output, calls) = strace::linkaudit(&lab.root(), args, "%process,%file,%network,write");
        assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{args:?}: {output:?}");
        let started: Vec<&String> =
            calls.iter().filter(|call| strace::name(call).starts_with("execve")).collect();
        assert_eq!(started.len(), 1, "{args:?}: {started:#?}");
        for call in &calls {
            harmless(call);
        }
    }
    assert_eq!(state(&lab.root()), before);
    assert!(!lab.path("MARK").exists(), "code of the tree has run");
}

/// Fails unless the call only reads, or creates a thread.
fn harmless(call: &str) {
    let name = strace::name(call);
    match name {
        "open" | "openat" | "openat2" => {
            let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND", "O_TMPFILE"];
            assert!(!writes.iter().any(|flag| call.contains(flag)), "opened for writing: {call}");
        }
        "clone" | "clone3" => assert!(call.contains("CLONE_THREAD"), "a process: {call}"),
        "write" => assert!(call.starts_with("write(1") || call.starts_with("write(2"), "{call}"),
        "execve" | "access" | "faccessat" | "faccessat2" | "stat" | "lstat" | "fstat"
        | "newfstatat" | "statx" | "readlink" | "readlinkat" | "getcwd" | "chdir" | "statfs"
        | "exit" | "exit_group" | "wait4" | "kill" | "tgkill" | "rt_sigqueueinfo"
        | "arch_prctl" => {}
        other => panic!("what is {other} for? {call}"),
    }
}

/// Files opened outside of the tree are those that the loader would open, and never devices or
/// files of a home directory.
#[test]
fn opens_stay_where_the_loader_looks() {
    if !support::has("strace") {
        return support::skip("opens_stay_where_the_loader_looks", "there is no strace");
    }
    let lab = Lab::new();
    trap(&lab);
    lab.link("/etc/passwd", "tree/lib/libpasswd.so");
    let (_, calls) = strace::linkaudit(&lab.root(), &["check", "tree"], "open,openat,openat2");
    let tree = lab.path("tree");
    // In /proc and /sys the program's own start looks for processors and memory.
    // A symbol is undefined: dpkg's lists name the package that has a definition.
    let allowed = ["/lib", "/usr/lib", "/etc/ld.so.", "/proc/", "/sys/", "/var/lib/dpkg/"];
    for call in calls {
        let Some(opened) = call.split('"').nth(1) else { continue };
        let opened = lab.root().join(opened);
        // The interpreter and the target of a link are named by files of the tree.
        let named = opened == lab.path("interp") || opened == Path::new("/etc/passwd");
        let fits = opened.starts_with(&tree)
            || named
            || allowed.iter().any(|start| opened.to_string_lossy().starts_with(start));
        assert!(fits, "{call}");
    }
}
