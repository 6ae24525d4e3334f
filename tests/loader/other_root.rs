//! `--root`: all paths are resolved inside one directory, also through links, and no file outside
//! is opened. `debian_roots` compares with the loaders of such sysroots.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use crate::support::report;
use crate::support::strace;

use report::{Report, evidence, list, text};
use serde_json::Value;
use std::path::Path;
use support::{Lab, skip};

const FOO: &str = "int foo(void) { return 1; }";
const APP: &str = "int foo(void); int main(void) { return foo(); }";
const LOADER: &str = "lib64/ld-linux-x86-64.so.2";
const LIBC: &str = "lib/x86_64-linux-gnu/libc.so.6";

/// A sysroot with this machine's loader and libc, and `/opt/app`, which needs libfoo.so.1.
fn system(runpath: &str) -> Lab {
    let lab = Lab::new();
    for name in [LOADER, LIBC] {
        let to = lab.path(&format!("r/{name}"));
        std::fs::create_dir_all(to.parent().expect("a directory")).expect("a directory");
        std::fs::copy(Path::new("/").join(name), to).expect("this machine's own");
    }
    lab.so("build/libfoo.so.1", FOO, &["-Wl,-soname,libfoo.so.1"]);
    let path = format!("-Wl,-rpath,{runpath}");
    let flags = ["-Wl,--no-as-needed,-z,now", "-Lbuild", "-l:libfoo.so.1", &path];
    lab.exe("r/opt/app", APP, &flags);
    lab
}

fn put(lab: &Lab, inside: &str) {
    let to = lab.path(&format!("r/{inside}"));
    std::fs::create_dir_all(to.parent().expect("a directory")).expect("a directory");
    std::fs::copy(lab.path("build/libfoo.so.1"), to).expect("the library");
}

fn report(lab: &Lab, args: &[&str]) -> Report {
    let mut command = support::linkaudit();
    Report::of(
        command.current_dir(lab.root()).args(["--root", "r", "-A", "search-path"]).args(args),
    )
}

/// The path that the need for libfoo.so.1 leads to, and how it was found.
fn found(report: &Report) -> Option<(String, String)> {
    let needs = list(&report.value["files"]).flat_map(|file| list(&file["needed"]));
    let need = needs.into_iter().find(|need| need["name"] == "libfoo.so.1")?;
    Some((text(need.get("path")?).to_owned(), text(&need["how"]).to_owned()))
}

#[test]
fn absolute_links_and_search_paths_stay_inside() {
    let lab = system("/opt/lib");
    put(&lab, "srv/real/libfoo.so.1");
    lab.link("/srv/real", "r/opt/lib");
    let report = report(&lab, &["/opt/app"]);
    assert_eq!(report.findings().count(), 0, "{}", report.outline());
    assert_eq!(found(&report), Some(("/opt/lib/libfoo.so.1".into(), "runpath".into())));
}

#[test]
fn a_link_that_climbs_out_ends_at_the_root() {
    let lab = system("/opt/lib");
    lab.so("libfoo.so.1", FOO, &["-Wl,-soname,libfoo.so.1"]);
    lab.mkdir("r/opt/lib");
    lab.link("../../../../../../../../../../libfoo.so.1", "r/opt/lib/libfoo.so.1");
    let missing = report(&lab, &["/opt/app"]);
    let finding = missing.of_rule("missing-library").next().expect("it is outside");
    assert_eq!(evidence(finding, "tried").next().expect("a path")["path"], "/opt/lib/libfoo.so.1");
    put(&lab, "libfoo.so.1");
    assert_eq!(report(&lab, &["/opt/app"]).findings().count(), 0);
}

#[test]
fn links_in_a_circle_are_what_the_kernel_says_of_them() {
    let lab = system("/opt/lib");
    lab.link("/opt/lib", "r/opt/lib");
    let report = report(&lab, &["/opt/app"]);
    let finding = report.of_rule("missing-library").next().expect("a circle leads nowhere");
    assert_eq!(finding["library"], "libfoo.so.1");
}

#[test]
fn paths_are_inside_or_below() {
    let lab = system("$ORIGIN");
    put(&lab, "opt/libfoo.so.1");
    let outside = lab.path("r/opt/app");
    let outside = outside.to_str().expect("a path in UTF-8");
    let files = |path: &str| {
        let report = report(&lab, &[path]);
        assert_eq!(report.findings().count(), 0, "{path}: {}", report.outline());
        list(&report.value["files"]).map(|file| file["path"].clone()).collect::<Vec<Value>>()
    };
    let inside = files("/opt/app");
    assert!(inside.contains(&"/opt/app".into()), "{inside:?}");
    assert_eq!(files("r/opt/app"), inside);
    assert_eq!(files("./r/opt/app"), inside);
    assert_eq!(files(outside), inside);
    let elsewhere = lab.linkaudit(&["--root", "r", "build"]);
    assert_eq!(elsewhere.status.code(), Some(2));
    let words = String::from_utf8_lossy(&elsewhere.stderr).into_owned();
    assert!(words.contains("build: not below --root"), "{words}");
    let gone = lab.linkaudit(&["--root", "none", "/opt"]);
    assert_eq!(gone.status.code(), Some(2), "{}", String::from_utf8_lossy(&gone.stderr));
}

#[test]
fn listed_paths_are_inside() {
    let lab = system("$ORIGIN");
    put(&lab, "opt/libfoo.so.1");
    let below = lab.path("r/opt/libfoo.so.1");
    lab.write("list", format!("/opt/app\nopt/app\n{}\n/opt/none\n", below.display()));
    let report = report(&lab, &["--files-from", "list"]);
    let problems: Vec<&Value> = report.findings().map(|finding| &finding["path"]).collect();
    assert_eq!(problems, ["none"], "{}", report.outline());
    assert_eq!(report.total("elf"), 2);
}

#[test]
fn a_root_without_links_is_read_as_merged() {
    let lab = system("/lib/app");
    for name in ["lib", "lib64"] {
        std::fs::create_dir_all(lab.path("r/usr")).expect("a directory");
        std::fs::rename(lab.path(&format!("r/{name}")), lab.path(&format!("r/usr/{name}")))
            .expect("a directory");
    }
    put(&lab, "usr/lib/app/libfoo.so.1");
    let output = lab.linkaudit(&["--root", "r", "--format", "json", "/opt/app"]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("merged-usr"), "{words}");
    let report = Report::from(output);
    assert_eq!(report.findings().count(), 0, "{}", report.outline());
    assert_eq!(found(&report), Some(("/lib/app/libfoo.so.1".into(), "runpath".into())));
    let quiet = lab.linkaudit(&["--root", "r", "-q", "/opt/app"]);
    assert_eq!(String::from_utf8_lossy(&quiet.stderr), "");
}

#[test]
fn cache_and_preload_list_are_those_of_the_root() {
    let lab = system("/none");
    put(&lab, "srv/cached/libfoo.so.1");
    lab.write("r/etc/ld.so.conf", "/srv/cached\n");
    lab.so("build/libpre.so", "int pre;", &["-Wl,-soname,libpre.so"]);
    std::fs::copy(lab.path("build/libpre.so"), lab.path("r/srv/libpre.so")).expect("a library");
    lab.write("r/etc/ld.so.preload", "/srv/libpre.so /srv/none.so\n");
    let made = support::clean("/sbin/ldconfig").arg("-r").arg(lab.path("r")).status();
    if !made.is_ok_and(|status| status.success()) {
        return skip("cache_and_preload_list_are_those_of_the_root", "needs ldconfig");
    }
    let report = report(&lab, &["/opt/app"]);
    assert_eq!(found(&report), Some(("/srv/cached/libfoo.so.1".into(), "cache".into())));
    let finding = report.of_rule("missing-preload").next().expect("what cannot be preloaded");
    assert_eq!(
        (&finding["library"], &finding["detail"]),
        (&"/srv/none.so".into(), &"/etc/ld.so.preload".into())
    );
    assert_eq!(report.findings().count(), 1, "{}", report.outline());
}

#[test]
fn relative_entries_begin_at_the_directory_inside() {
    let lab = system("srv");
    put(&lab, "srv/libfoo.so.1");
    put(&lab, "other/srv/libfoo.so.1");
    std::fs::remove_file(lab.path("r/srv/libfoo.so.1")).expect("the library");
    let open = report(&lab, &["/opt/app"]);
    assert!(open.rules().contains("missing-library"), "{}", open.outline());
    let stated = report(&lab, &["--cwd", "/other", "/opt/app"]);
    assert_eq!(stated.findings().count(), 0, "{}", stated.outline());
}

#[test]
fn a_root_without_loader_is_not_decided() {
    let lab = system("$ORIGIN");
    put(&lab, "opt/libfoo.so.1");
    std::fs::remove_file(lab.path(&format!("r/{LOADER}"))).expect("the loader");
    let report = report(&lab, &["/opt"]);
    assert!(!report.complete());
    assert!(report.rules().contains("undecided"), "{}", report.outline());
}

/// A sysroot with one C library does not start programs of another. Its loader is not asked for the
/// needs and symbols of such a program: the missing interpreter is the only finding.
#[test]
fn the_loader_of_another_c_library_is_not_asked() {
    let Ok(musl) = std::fs::canonicalize("/lib/ld-musl-x86_64.so.1") else {
        return skip("another C library", "musl is not installed");
    };
    let lab = Lab::new();
    lab.mkdir("r/lib");
    std::fs::copy(musl, lab.path("r/lib/ld-musl-x86_64.so.1")).expect("musl");
    // musl has no __fprintf_chk.
    let source = "#include <stdio.h>\nint main(int c, char **v) { return fprintf(stderr, \"%s\", v[c - 1]); }";
    lab.exe("r/opt/app", source, &["-O2", "-D_FORTIFY_SOURCE=2"]);
    for loader in ["auto", "glibc"] {
        let report = report(&lab, &["--loader", loader, "/opt"]);
        let found: Vec<_> =
            report.findings().map(|one| (text(&one["rule"]), text(&one["library"]))).collect();
        assert_eq!(found, [("missing-library", "/lib64/ld-linux-x86-64.so.2")], "{loader}");
        assert_eq!(report.value["causes"].as_array().map(Vec::len), Some(1), "{loader}");
    }
    if support::clean("id").arg("-u").output().is_ok_and(|out| out.stdout == b"0\n") {
        let output = support::clean("chroot").arg(lab.path("r")).arg("/opt/app").output();
        let error = String::from_utf8_lossy(&output.expect("chroot runs").stderr).into_owned();
        assert!(error.contains("No such file or directory"), "{error}");
    }
    // A library without PT_INTERP is resolved by musl, which has libc.so.6 built in.
    lab.so("r/opt/libfoo.so", FOO, &[]);
    let report = report(&lab, &["/opt/libfoo.so"]);
    assert_eq!(report.findings().count(), 0, "{}", report.outline());
}

/// The reverse: a program of musl, and only glibc in the sysroot, with the linker script `libc.so`.
#[test]
fn a_program_of_musl_beside_glibc() {
    if !support::has("musl-gcc") {
        return skip("a program of musl", "musl-gcc is not installed");
    }
    let lab = system("$ORIGIN");
    std::fs::remove_file(lab.path("r/opt/app")).expect("a program");
    lab.write("r/lib/x86_64-linux-gnu/libc.so", "GROUP ( /lib/x86_64-linux-gnu/libc.so.6 )\n");
    lab.write("h.c", "int main(void) { return 0; }");
    assert!(lab.sh("musl-gcc h.c -o r/opt/h").status.success());
    let report = report(&lab, &["/opt"]);
    let found: Vec<_> =
        report.findings().map(|one| (text(&one["rule"]), text(&one["library"]))).collect();
    assert_eq!(found, [("missing-library", "/lib/ld-musl-x86_64.so.1")], "{}", report.outline());
}

/// The kernel starts any ELF file as interpreter. One that needs libraries crashes.
#[test]
fn a_library_as_interpreter() {
    let lab = Lab::new();
    let flag = format!("-Wl,--dynamic-linker=/{LIBC}");
    let app = lab.exe("bin/app", "int main(void) { return 0; }", &[&flag]);
    let status = support::clean(&app).status().expect("a program that the kernel starts");
    assert_eq!(status.code(), None, "it ends by a signal");
    let report = Report::of(support::linkaudit().current_dir(lab.root()).arg("bin"));
    let found: Vec<_> =
        report.findings().map(|one| (text(&one["rule"]), text(&one["message"]))).collect();
    let message = format!("interpreter /{LIBC}: not a loader: it needs libraries");
    assert_eq!(found, [("bad-library-file", &*message)], "{}", report.outline());
}

#[test]
fn the_root_of_the_machine_is_the_machine() {
    let run = |args: &[&str]| {
        let mut command = support::linkaudit();
        Report::of(command.args(args).args(["--cwd", "/", "--cpu", "x86-64-v3", "/usr/bin"]))
    };
    let (plain, rooted) = (run(&[]), run(&["--root", "/"]));
    let files = list(&plain.value["files"]).count();
    assert!(files > 100);
    assert_eq!(plain.value["files"], rooted.value["files"]);
    assert_eq!(plain.value["findings"], rooted.value["findings"]);
    println!("--root /: {files} files, 0 differences");
}

#[test]
fn nothing_outside_is_opened() {
    if !support::has("strace") {
        return skip("nothing_outside_is_opened", "needs strace");
    }
    let lab = system("/opt/lib:/out:$ORIGIN/../../..");
    put(&lab, "srv/real/libfoo.so.1");
    lab.link("/srv/real", "r/opt/lib");
    lab.link("/etc", "r/opt/etc");
    lab.link("../../../../../../../../etc/passwd", "r/opt/passwd");
    lab.link("/proc/self/exe", "r/opt/exe");
    lab.link("/usr/bin", "r/out");
    let root = lab.path("r");
    let root = root.to_str().expect("a path in UTF-8");
    let set = "open,openat,openat2,execve,connect,socket,unlink,rename,mkdir";
    let (output, calls) = strace::linkaudit(&lab.root(), &["--root", "r", "/"], set);
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output:?}");
    let start =
        calls.iter().position(|call| call.contains(&format!("\"{root}\""))).map_or(0, |at| at);
    assert!(start > 0, "the root is opened: {calls:#?}");
    let program = ["/etc/ld.so.cache", "/lib", "/usr/lib", "/proc/", "/sys/"];
    let outside: Vec<&String> = calls
        .iter()
        .filter(|call| strace::name(call).starts_with("open"))
        .filter(|call| {
            let named = call.split('"').nth(1).unwrap_or_default();
            let in_root = call.contains(&format!("<{root}")) || named.starts_with(root);
            !in_root && !program.iter().any(|start| named.starts_with(start))
        })
        .collect();
    assert!(outside.is_empty(), "{outside:#?}");
    // The calls of linkaudit's own start end before the sysroot is opened.
    let late = calls[start..].iter().filter(|call| {
        let named = call.split('"').nth(1).unwrap_or_default();
        strace::name(call) == "open" && !named.starts_with(root) && !named.starts_with("/proc/self")
    });
    let late: Vec<&String> = late.filter(|call| !call.contains("/sys/fs/cgroup")).collect();
    assert!(late.is_empty(), "{late:#?}");
    assert_eq!(calls.iter().filter(|call| call.starts_with("execve")).count(), 1);
    assert!(!calls.iter().any(|call| call.starts_with("connect") || call.starts_with("socket")));
}

/// Guix's loader searches the cache of the program's own package before RUNPATH. The rule comes
/// from Guix's patch of `elf/dl-cache.c`; no such loader is available for a comparison.
#[test]
fn guix_asks_the_cache_of_the_package_first() {
    let lab = system("/srv/runpath");
    let item = "gnu/store/0123456789abcdfghijklmnpqrsvwxyz-app-1.0";
    let glibc = "gnu/store/0123456789abcdfghijklmnpqrsvwxyz-glibc-2.35/lib/ld-linux-x86-64.so.2";
    for (from, to) in [(LOADER, glibc), ("opt/app", &format!("{item}/bin/app"))] {
        let to = lab.path(&format!("r/{to}"));
        std::fs::create_dir_all(to.parent().expect("a directory")).expect("a directory");
        std::fs::copy(lab.path(&format!("r/{from}")), to).expect("a file");
    }
    put(&lab, "srv/runpath/libfoo.so.1");
    put(&lab, "srv/cached/libfoo.so.1");
    lab.write("r/conf", "/srv/cached\n");
    lab.mkdir(&format!("r/{item}/etc"));
    let cache = format!("/{item}/etc/ld.so.cache");
    let made = support::clean("/sbin/ldconfig")
        .arg("-r")
        .arg(lab.path("r"))
        .args(["-f", "/conf", "-C", &cache])
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return skip("guix_asks_the_cache_of_the_package_first", "needs ldconfig");
    }
    let app = format!("/{item}/bin/app");
    let found = |args: &[&str]| found(&report(&lab, &[args, &[&app]].concat())).expect("a need");
    assert_eq!(found(&["--loader", "guix"]), ("/srv/cached/libfoo.so.1".into(), "cache".into()));
    assert_eq!(found(&[]), ("/srv/runpath/libfoo.so.1".into(), "runpath".into()));
    // A damaged cache is named, and the search goes on without it.
    let cache = lab.path(&format!("r{cache}"));
    let sound = std::fs::read(&cache).expect("a cache");
    std::fs::write(&cache, &sound[..30]).expect("a write");
    let damaged = report(&lab, &["--loader", "guix", &app]);
    assert_eq!(self::found(&damaged).expect("a need").1, "runpath");
    let malformed: Vec<_> = damaged.of_rule("malformed").collect();
    assert_eq!((malformed.len(), damaged.status), (1, 3), "{}", damaged.outline());
    assert_eq!(malformed[0]["path"], "etc/ld.so.cache");
    std::fs::write(&cache, sound).expect("a write");
    let paths = ["--loader", "guix", "--ld-library-path", "/srv/runpath"];
    assert_eq!(found(&paths).1, "ld-library-path");
    // The loader that PT_INTERP names in the store has these rules without an option.
    let interp = format!("-Wl,--dynamic-linker,/{glibc}");
    let flags =
        ["-Wl,--no-as-needed", "-Lbuild", "-l:libfoo.so.1", "-Wl,-rpath,/srv/runpath", &interp];
    lab.exe(&format!("r/{item}/bin/app"), APP, &flags);
    assert_eq!(found(&[]).1, "cache");
    // A program that lies in no package has no such cache.
    lab.exe("r/opt/app", APP, &flags);
    let outside = report(&lab, &["/opt/app"]);
    assert_eq!(self::found(&outside).expect("a need").1, "runpath");
}
