//! Platforms of auditwheel as gates, and custom whitelists. gcc makes libraries with the relevant
//! sonames and versions. Every built-in policy accepts a good prefix, and real wheels are
//! compared with `auditwheel show`.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod built_in;
use crate::support;
use crate::support::random;
use crate::support::report;
mod wheels;

use linkaudit::policy::{Libc, built_in_platforms};
use report::{Report, text};
use serde_json::{Value, json};
use support::{Lab, linkaudit};

/// A laboratory with libraries to link against, which no audited prefix holds: a libc with versions
/// of several releases, one of musl, and libraries without versions.
pub(crate) fn lab() -> Lab {
    let lab = Lab::new();
    let map = "GLIBC_2.2.5 { global: puts; };\nGLIBC_2.14 { global: memcpy; };\n\
               GLIBC_2.99 { global: tomorrow; };\nGLIBC_PRIVATE { global: inner; };\n";
    lab.write("libc.map", map);
    let source = "int puts(void) { return 1; } int memcpy(void) { return 1; }\n\
                  int tomorrow(void) { return 1; } int inner(void) { return 1; }";
    let script = "-Wl,--version-script=$PWD/libc.map";
    let flags = ["-nostdlib", "-fno-builtin", "-Wl,-soname,libc.so.6", script];
    lab.so("stub/libc.so.6", source, &flags);
    lab.write("gomp.map", "GOMP_1.0 { global: omp; };\n");
    let script = "-Wl,--version-script=$PWD/gomp.map";
    let flags = ["-nostdlib", "-Wl,-soname,libgomp.so.1", script];
    lab.so("stub/libgomp.so.1", "int omp(void) { return 1; }", &flags);
    lab.write("z.map", "ZLIB_1.2.9 { global: newer; };\n");
    let script = "-Wl,--version-script=$PWD/z.map";
    let flags = ["-nostdlib", "-Wl,-soname,libz.so.1", script];
    let source = "int inflate(void) { return 1; } int newer(void) { return 1; }";
    lab.so("stub/libz.so.1", source, &flags);
    let plain = [
        ("libexpat.so.1", "expat"),
        ("libc.musl-x86_64.so.1", "puts"),
        ("ld-linux-x86-64.so.2", "loader"),
    ];
    for (soname, symbol) in plain {
        let source = format!("int {symbol}(void) {{ return 1; }}");
        let soname_flag = format!("-Wl,-soname,{soname}");
        let flags = ["-nostdlib", "-fno-builtin", &soname_flag];
        lab.so(&format!("stub/{soname}"), &source, &flags);
    }
    lab
}

/// A shared object of the prefix `p` that calls `calls` and needs `needs`.
pub(crate) fn library(lab: &Lab, path: &str, calls: &[&str], needs: &[&str], more: &[&str]) {
    let mut source = String::new();
    for (at, name) in calls.iter().enumerate() {
        let (weak, name) = match name.strip_prefix("weak ") {
            Some(name) => ("__attribute__((weak)) ", name),
            None => ("", *name),
        };
        source += &format!("{weak}int {name}(void); int call{at}(void) {{ return {name}(); }}\n");
    }
    let needs: Vec<String> = needs.iter().map(|name| format!("$PWD/stub/{name}")).collect();
    let mut flags = vec!["-nostdlib", "-fno-builtin", "-Wl,--no-as-needed"];
    flags.extend(needs.iter().map(String::as_str));
    flags.extend(more);
    lab.so(&format!("p/{path}"), &source, &flags);
}

pub(crate) fn audit(lab: &Lab, policy: &str, more: &[&str]) -> Report {
    let mut command = linkaudit();
    command.current_dir(lab.root()).args(["--isolated", "--policy", policy, "p"]).args(more);
    Report::of(&mut command)
}

/// Rule, path and subject of every finding.
fn facts(report: &Report) -> Vec<String> {
    let fact = |finding: &Value| {
        let keys = ["symbol", "version", "library", "detail"];
        let about = keys.iter().find_map(|key| finding[key].as_str()).unwrap_or_default();
        format!("{} {} {about}", text(&finding["rule"]), text(&finding["path"]))
    };
    report.findings().map(fact).collect()
}

#[test]
fn a_library_off_the_list_is_outside() {
    let lab = lab();
    library(&lab, "a.so", &["omp", "puts"], &["libc.so.6", "libgomp.so.1"], &[]);
    library(&lab, "b.so", &["expat", "puts"], &["libc.so.6", "libexpat.so.1"], &[]);
    library(&lab, "c.so", &["puts"], &["libc.so.6", "ld-linux-x86-64.so.2"], &[]);
    let report = audit(&lab, "manylinux_2_28", &[]);
    assert_eq!(facts(&report), ["outside-closure a.so libgomp.so.1"]);
    assert_eq!((report.status, report.total("explained")), (1, 1));
    let finding = report.findings().next().expect("a finding");
    assert_eq!(text(&finding["level"]), "error");
    assert!(text(&finding["message"]).contains("not provided by manylinux_2_28,"));
    let old = ["outside-closure a.so libgomp.so.1", "outside-closure b.so libexpat.so.1"];
    assert_eq!(facts(&audit(&lab, "manylinux1", &[])), old);
    let report = audit(&lab, "manylinux_2_28", &["-A", "outside-closure"]);
    assert_eq!((facts(&report).len(), report.status), (0, 0), "an allowed one is allowed");
}

/// musl ignores versions. The version still names the library of glibc that lacks a file.
#[test]
fn a_library_of_glibc_is_outside_of_musl() {
    let lab = lab();
    library(&lab, "a.so", &["memcpy"], &["libc.so.6"], &[]);
    let report = audit(&lab, "musllinux_1_2", &[]);
    assert_eq!(facts(&report), ["outside-closure a.so libc.so.6"]);
    assert_eq!(report.total("explained"), 1);
    let args = ["--isolated", "--policy", "musllinux_1_2", "p"];
    let page = String::from_utf8(lab.linkaudit(&args).stdout).expect("UTF-8");
    let title =
        "error[outside-closure] libc.so.6: not provided by musllinux_1_2, not in the prefix";
    assert!(page.contains(title), "{page}");
}

#[test]
fn what_the_prefix_holds_is_not_outside() {
    let lab = lab();
    library(&lab, "lib/a.so", &["omp"], &["libgomp.so.1"], &["-Wl,-rpath,$ORIGIN/../other"]);
    library(&lab, "other/libgomp.so.1", &[], &[], &["-Wl,-soname,libgomp.so.1"]);
    // It is found, and does not define the symbol.
    assert_eq!(facts(&audit(&lab, "manylinux_2_28", &[])), ["undefined-symbol lib/a.so omp"]);
    std::fs::rename(lab.path("p/other"), lab.path("p/elsewhere")).expect("a directory");
    let report = audit(&lab, "manylinux_2_28", &[]);
    let missing = report.of_rule("missing-library").next().expect("it is not found");
    assert_eq!(text(&missing["detail"]), "candidate-in-prefix");
    assert_eq!(report.of_rule("outside-closure").count(), 0);
}

#[test]
fn a_provided_library_in_the_prefix_is_that_file() {
    let lab = lab();
    library(&lab, "a.so", &["inflate"], &["libz.so.1"], &["-Wl,-rpath,$ORIGIN"]);
    assert_eq!(facts(&audit(&lab, "manylinux_2_28", &[])), [""; 0]);
    library(&lab, "libz.so.1", &[], &[], &["-Wl,-soname,libz.so.1"]);
    let report = audit(&lab, "manylinux_2_28", &[]);
    assert_eq!(facts(&report), ["undefined-symbol a.so inflate"]);
}

#[test]
fn a_symbol_lost_beside_libc_is_undefined() {
    let lab = lab();
    library(&lab, "a.so", &["puts", "lost"], &["libc.so.6"], &[]);
    for policy in ["manylinux_2_5", "manylinux_2_17", "manylinux_2_41"] {
        let report = audit(&lab, policy, &[]);
        assert_eq!(facts(&report), ["undefined-symbol a.so lost"], "{policy}");
    }
}

/// zlib has versions only for newer functions, and Python loads libdl and libpthread.
#[test]
fn names_without_version_of_zlib_and_of_python_are_not_lost() {
    let lab = lab();
    library(&lab, "a.so", &["puts", "inflate", "newer"], &["libc.so.6", "libz.so.1"], &[]);
    let calls = ["puts", "dlopen", "pthread_create"];
    library(&lab, "module.abi3.so", &calls, &["libc.so.6"], &[]);
    let report = audit(&lab, "manylinux_2_28", &[]);
    assert_eq!(facts(&report), [""; 0]);
    assert_eq!((report.status, report.total("assumed")), (0, 3));
    library(&lab, "b.so", &["puts", "dlopen"], &["libc.so.6"], &[]);
    assert_eq!(facts(&audit(&lab, "manylinux_2_28", &[])), ["undefined-symbol b.so dlopen"]);
}

#[test]
fn the_blacklist_is_about_strong_references() {
    let lab = lab();
    let symbol = "__cxa_thread_atexit_impl";
    library(&lab, "weak.so", &["puts", &format!("weak {symbol}")], &["libc.so.6"], &[]);
    assert_eq!(facts(&audit(&lab, "manylinux_2_12", &[])), [""; 0]);
    library(&lab, "strong.so", &["puts", symbol], &["libc.so.6"], &[]);
    let forbidden = |policy| {
        let report = audit(&lab, policy, &[]);
        let of_rule = report.of_rule("forbidden-symbol");
        of_rule.map(|finding| text(&finding["path"]).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(forbidden("manylinux_2_12"), ["strong.so"]);
    assert_eq!(forbidden("manylinux_2_24"), [""; 0], "newer platforms export it");
}

#[test]
fn versions_are_those_that_the_platform_lists() {
    let lab = lab();
    library(&lab, "a.so", &["puts", "memcpy"], &["libc.so.6"], &[]);
    let too_new = ["symbol-version-too-new a.so GLIBC_2.14"];
    assert_eq!(facts(&audit(&lab, "manylinux2010", &[])), too_new);
    let report = audit(&lab, "manylinux_2_17", &[]);
    assert_eq!(facts(&report), [""; 0]);
    let expected = json!([{
        "arch": "x86_64", "satisfies": "manylinux_2_17", "next": "manylinux_2_12",
        "blocked_by": [{
            "kind": "version", "name": "GLIBC_2.14", "library": "libc.so.6", "files": 1,
            "path": "a.so",
        }],
    }]);
    assert_eq!(report.value["platform"], expected);
    let text = lab.linkaudit(&["--isolated", "--policy", "manylinux_2_41", "p"]).stdout;
    let text = String::from_utf8(text).expect("UTF-8");
    let line =
        "platform: manylinux_2_17_x86_64; manylinux_2_12 has no GLIBC_2.14 of libc.so.6 (a.so)";
    assert!(text.lines().any(|said| said == line), "{text}");
    library(&lab, "b.so", &["inner", "tomorrow"], &["libc.so.6"], &[]);
    let report = audit(&lab, "manylinux_2_41", &[]);
    let versions = ["GLIBC_2.99", "GLIBC_PRIVATE"];
    assert_eq!(facts(&report), versions.map(|v| format!("symbol-version-too-new b.so {v}")));
    assert_eq!(report.value["platform"][0]["satisfies"], Value::Null);
    assert_eq!(report.value["platform"][0]["next"], "manylinux_2_41");
}

/// A library for another machine: only its header differs, and it has no references.
fn foreign(lab: &Lab, machine: u16) {
    library(lab, "a.so", &[], &["libc.so.6", "libgomp.so.1"], &[]);
    let path = lab.path("p/a.so");
    let mut bytes = std::fs::read(&path).expect("a library");
    bytes[18..20].copy_from_slice(&machine.to_le_bytes());
    std::fs::write(&path, bytes).expect("a library");
}

const AARCH64: u16 = 183;
const RISCV: u16 = 243;

#[test]
fn the_architecture_of_the_file_chooses_the_entry() {
    let lab = lab();
    foreign(&lab, AARCH64);
    // No loader for it is on this machine, and none is asked.
    for policy in ["manylinux_2_28", "manylinux_2_28_aarch64", "manylinux2014"] {
        let report = audit(&lab, policy, &[]);
        assert_eq!(facts(&report), ["outside-closure a.so libgomp.so.1"], "{policy}");
        assert!(report.complete() && report.status == 1, "{policy}");
    }
    for policy in ["manylinux_2_5", "manylinux_2_28_x86_64"] {
        let report = audit(&lab, policy, &[]);
        assert_eq!(facts(&report), [format!("undecided a.so {policy}")]);
        assert_eq!(report.status, 3, "{policy}");
    }
    foreign(&lab, RISCV);
    let report = audit(&lab, "manylinux_2_28", &[]);
    assert_eq!(facts(&report), ["undecided a.so manylinux_2_28"], "riscv64 came with 2.31");
}

#[test]
fn an_interpreter_must_be_the_platform_s() {
    let lab = lab();
    let program = |interpreter: &str| {
        let flag = format!("-Wl,--dynamic-linker={interpreter}");
        let flags = ["-nostdlib", "-fno-builtin", "-e", "main", "$PWD/stub/libc.so.6", &flag];
        lab.exe("p/app", "int puts(void); int main(void) { return puts(); }", &flags);
        facts(&audit(&lab, "manylinux_2_28", &[]))
    };
    assert_eq!(program("/lib64/ld-linux-x86-64.so.2"), [""; 0]);
    assert_eq!(program("/nowhere/ld-linux-x86-64.so.2"), [""; 0], "the target has its own");
    let musl = "/lib/ld-musl-x86_64.so.1";
    assert_eq!(program(musl)[0], format!("outside-closure app {musl}"));
}

#[test]
fn a_whitelist_of_one_s_own() {
    let lab = lab();
    library(&lab, "a.so", &["omp", "puts"], &["libc.so.6", "libgomp.so.1"], &[]);
    let policy = |more: &str| {
        let text = format!("schema = 1\n[provided]\nlibraries = [\"libc.so.6\"]\n{more}\n");
        lab.write("own.toml", text);
        audit(&lab, "own.toml", &[])
    };
    let report = policy("only = true");
    assert_eq!(facts(&report), ["outside-closure a.so libgomp.so.1"]);
    let message = text(&report.findings().next().expect("a finding")["message"]).to_owned();
    assert!(message.contains("not provided by own.toml:4,"), "{message}");
    assert_eq!(report.value["platform"], Value::Null);
    assert_eq!(policy("only = false").of_rule("outside-closure").count(), 0);
    // Libraries that a policy lists in addition to the extended platforms are provided too.
    let text = "schema = 1\nextends = [\"manylinux_2_28\"]\n[provided]\n\
                libraries = [\"libgomp.so.1\"]\n";
    lab.write("more.toml", text);
    assert_eq!(facts(&audit(&lab, "more.toml", &[])), [""; 0]);
}

/// One prefix in two sysroots: an empty one, and a whole system with the library in question.
#[test]
fn the_machine_says_nothing() {
    let lab = lab();
    let search = "-Wl,-rpath,/usr/lib:/opt";
    library(&lab, "a.so", &["omp", "puts"], &["libc.so.6", "libgomp.so.1"], &[search]);
    library(&lab, "b.so", &["expat"], &["libexpat.so.1", "libz.so.1"], &[]);
    let of = |root: &str, policy: &str| {
        let args = ["--isolated", "--policy", policy, "--root", root, "/p", "--format", "json"];
        let output = lab.linkaudit(&args);
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        (output.status.code(), output.stdout)
    };
    let copy = |from: &str, to: &str| {
        let to = lab.path(to);
        std::fs::create_dir_all(to.parent().expect("a directory")).expect("a directory");
        std::fs::copy(from, to).expect("a copy");
    };
    for root in ["bare", "full"] {
        for name in ["a.so", "b.so"] {
            copy(
                lab.path(&format!("p/{name}")).to_str().expect("UTF-8"),
                &format!("{root}/p/{name}"),
            );
        }
    }
    for entry in std::fs::read_dir(lab.path("stub")).expect("libraries").flatten() {
        let name = entry.file_name();
        let from = entry.path();
        let from = from.to_str().expect("UTF-8");
        copy(from, &format!("full/usr/lib/{}", name.display()));
        copy(from, &format!("full/opt/{}", name.display()));
    }
    // Beside `usr/lib` alone it would be read as a merged one.
    copy("/lib64/ld-linux-x86-64.so.2", "full/lib/ld-linux-x86-64.so.2");
    copy("/lib64/ld-linux-x86-64.so.2", "full/lib64/ld-linux-x86-64.so.2");
    copy("/etc/ld.so.cache", "full/etc/ld.so.cache");
    // A symbol that only the full system defines, and the package that has the library.
    lab.so("stub/libgone.so.1", "", &["-nostdlib", "-Wl,-soname,libgone.so.1"]);
    library(&lab, "c.so", &["lost", "puts"], &["libc.so.6", "libgone.so.1"], &[]);
    library(&lab, "d.so", &["lost", "puts"], &["libc.so.6"], &[]);
    lab.so("stub/liblost.so.1", "int lost(void) { return 1; }", &["-nostdlib"]);
    for root in ["bare", "full"] {
        for name in ["c.so", "d.so"] {
            copy(
                lab.path(&format!("p/{name}")).to_str().expect("UTF-8"),
                &format!("{root}/p/{name}"),
            );
        }
    }
    copy(lab.path("stub/liblost.so.1").to_str().expect("UTF-8"), "full/usr/lib/liblost.so.1");
    let list = "/usr/lib/liblost.so.1\n/usr/lib/private/libgone.so.1\n";
    lab.write("full/var/lib/dpkg/info/liblost1.list", list);
    let mut cases = 0;
    for name in platforms() {
        assert!(of("bare", &name) == of("full", &name), "{name}");
        cases += 1;
    }
    println!("{cases} platforms under a bare and a full root, 0 differences");
    // Without a whitelist the system is asked.
    let (_, open) = of("full", "default");
    let open = String::from_utf8(open).expect("UTF-8");
    assert!(open.contains("\"installed\"") && open.contains("liblost1"), "{open}");
}

/// All platforms that are built in.
fn platforms() -> Vec<String> {
    let all = [Libc::Glibc, Libc::Musl].into_iter().flat_map(built_in_platforms);
    all.map(|platform| platform.name).collect()
}

/// This machine, with all its packages, gives the same report as an empty sysroot.
#[test]
fn this_machine_says_nothing() {
    let lab = lab();
    library(&lab, "a.so", &["omp", "puts"], &["libc.so.6", "libgomp.so.1"], &[]);
    library(&lab, "b.so", &["puts", "deflate"], &["libc.so.6"], &[]);
    library(&lab, "c.so", &["expat", "inflate"], &["libexpat.so.1", "libz.so.1"], &[]);
    let prefix = lab.path("p");
    let below = prefix.strip_prefix("/").expect("an absolute path").display().to_string();
    for name in ["a.so", "b.so", "c.so"] {
        let bytes = std::fs::read(prefix.join(name)).expect("a library");
        lab.write(&format!("bare/{below}/{name}"), bytes);
    }
    let prefix = prefix.to_str().expect("UTF-8");
    let of = |more: &[&str]| {
        let args = [&["--isolated", "--format", "json", prefix], more].concat();
        let output = lab.linkaudit(&args);
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (mut cases, mut differing) = (0, Vec::new());
    for name in platforms() {
        cases += 1;
        let (here, bare) = (of(&["--policy", &name]), of(&["--policy", &name, "--root", "bare"]));
        if here != bare {
            differing.push(format!("{name}:\n{}\n{}", here.1, bare.1));
        }
    }
    println!("{cases} platforms here and in an empty sysroot, {} differences", differing.len());
    assert!(differing.is_empty(), "{}", differing[0]);
    let has_zlib = std::path::Path::new("/usr/lib/x86_64-linux-gnu/libz.so.1").exists();
    let (_, open) = of(&[]);
    assert_eq!(open.contains("\"installed\""), has_zlib, "without a whitelist: {open}");
}
