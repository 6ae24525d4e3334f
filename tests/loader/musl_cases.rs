//! Differential cases for musl's rules: the output of linkaudit with `--loader musl --as-ldd` must
//! equal that of the real `ld-musl-x86_64.so.1 --list`, line by line. For a sysroot with another
//! release of musl, linkaudit with `--root` must give the answer of that loader in a chroot.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use crate::support::debian;

mod kit;
mod long;
mod search_entries;
use crate::support::musl;
use crate::support::queries;

use debian::Debian;
use kit::{LOADER, MAIN, compare, distinct, exe, lib, so};
use support::{Lab, Tally, clean, linkaudit, normalise, skip};

/// Makes the name of a need empty.
fn without_name(lab: &Lab, file: &str, name: &[u8]) {
    let mut bytes = std::fs::read(lab.path(file)).expect("a file");
    let at = bytes.windows(name.len()).position(|part| part == name).expect("the name");
    bytes[at] = 0;
    std::fs::write(lab.path(file), bytes).expect("a file");
}

#[test]
fn search() {
    let build = |lab: &Lab| {
        for dir in ["a", "b", "c", "sub/a", "aX", "here"] {
            lib(lab, &format!("{dir}/libfig.so"), &[]);
        }
        lib(lab, "libfig.so", &[]);
        let fig = ["-La", "-l:libfig.so"];
        let path = |rpath: &'static str| -> Vec<&'static str> { vec![fig[0], fig[1], rpath] };
        exe(lab, "bare", MAIN, &fig);
        exe(lab, "rpath", MAIN, &path("-Wl,--disable-new-dtags,-rpath,$PWD/b"));
        exe(lab, "runpath", MAIN, &path("-Wl,--enable-new-dtags,-rpath,$PWD/b"));
        exe(lab, "sub/origin", MAIN, &path("-Wl,-rpath,/x:${ORIGIN}/a"));
        exe(lab, "plain", MAIN, &path("-Wl,-rpath,$ORIGIN/a"));
        exe(lab, "prefix", MAIN, &path("-Wl,-rpath,$ORIGIN/aX:$ORIGINX"));
        exe(lab, "other", MAIN, &path("-Wl,-rpath,$ORIGIN/a:$LIB"));
        exe(lab, "empty", MAIN, &path("-Wl,-rpath,::/none:"));
        exe(lab, "relative", MAIN, &path("-Wl,-rpath,c/:d"));
        exe(lab, "nameless", MAIN, &fig);
        without_name(lab, "nameless", b"libfig.so");
        // The search paths of all objects that led to a library count, even if the library has
        // its own.
        lib(lab, "deep/libpear.so", &["-La", "-l:libfig.so"]);
        lib(lab, "deep/libplum.so", &["-La", "-l:libfig.so", "-Wl,-rpath,/none"]);
        let run = "-Wl,--enable-new-dtags,-rpath,$PWD/deep:$PWD/b";
        exe(lab, "inherit", MAIN, &["-Ldeep", "-lpear", run]);
        exe(lab, "behind", MAIN, &["-Ldeep", "-lplum", run]);
        lib(lab, "here/libcwd.so", &["-La", "-l:libfig.so", "-Wl,-rpath,$ORIGIN"]);
        exe(lab, "own", MAIN, &["-Lhere", "-lcwd", "-Wl,-rpath,$PWD/here"]);
        lab.link("sub/origin", "linked");
    };
    compare(
        "search",
        build,
        &[
            ("./bare", "", "", "Error loading shared library libfig.so: No such file"),
            ("./rpath", "", "", "libfig.so => $PWD/b/libfig.so"),
            ("./runpath", "", "", "libfig.so => $PWD/b/libfig.so"),
            ("./runpath", "$PWD/c", "", "libfig.so => $PWD/c/libfig.so"),
            ("./rpath", "/none\n$PWD/c:", "", "libfig.so => $PWD/c/libfig.so"),
            ("./bare", ":", "", "Error loading"),
            ("./bare", "$PWD/a;$PWD/b", "", "Error loading"),
            ("./bare", "$ORIGIN/a", "", "Error loading"),
            ("./bare", "a/", "", "libfig.so => a//libfig.so"),
            ("./sub/origin", "", "", "libfig.so => ./sub/a/libfig.so"),
            ("sub/origin", "", "", "libfig.so => sub/a/libfig.so"),
            ("plain", "", "", "libfig.so => ./a/libfig.so"),
            ("./linked", "", "", "libfig.so => ./a/libfig.so"),
            ("./prefix", "", "", "libfig.so => ./aX/libfig.so"),
            ("./other", "", "", "Error loading"),
            ("./empty", "", "", "Error loading"),
            ("./nameless", "", "", "Error loading shared library : Invalid argument"),
            ("./relative", "", "", "libfig.so => c//libfig.so"),
            ("./inherit", "", "", "libfig.so => $PWD/b/libfig.so"),
            ("./behind", "", "", "libfig.so => $PWD/b/libfig.so"),
            ("./own", "", "", "libfig.so => $PWD/here/libfig.so"),
        ],
    );
}

#[test]
fn duplicates() {
    let build = |lab: &Lab| {
        for (name, size) in [("one", 2), ("two", 4)] {
            let source = format!(
                "int data[{size}]={{1}}; int twice(void){{return {size};}} \
                 int {name}(void){{return twice()+data[1];}}"
            );
            so(lab, &format!("d/lib{name}.so"), &source, &[]);
        }
        so(
            lab,
            "d/libown.so",
            "int twice(void){return 3;} int own(void){return twice();}",
            &["-Wl,-Bsymbolic"],
        );
        let main = "extern int data[]; int one(void),two(void),own(void),twice(void);\
                    int main(void){return data[0]+one()+two()+own()+twice();}";
        let libraries = ["-Ld", "-lone", "-ltwo", "-lown", "-Wl,-rpath,$PWD/d"];
        exe(lab, "prog", main, &libraries);
        exe(lab, "fixed", main, &[&libraries[..], &["-no-pie", "-fno-pie"]].concat());
    };
    compare(
        "duplicates",
        build,
        &[
            ("./prog", "", "", "libtwo.so => $PWD/d/libtwo.so"),
            ("./fixed", "", "", "libown.so => $PWD/d/libown.so"),
        ],
    );
}

#[test]
fn names() {
    let build = |lab: &Lab| {
        lib(lab, "d/libfig.so", &["-Wl,-soname,libreal.so.1"]);
        lib(lab, "d/libpear.so", &[]);
        lab.link("libpear.so", "d/libtwin.so");
        std::fs::hard_link(lab.path("d/libpear.so"), lab.path("d/libhard.so")).expect("a link");
        let run = "-Wl,-rpath,$PWD/d";
        exe(lab, "soname", MAIN, &["-Ld", "-l:libfig.so", run]);
        exe(lab, "twins", MAIN, &["-Ld", "-lpear", "-ltwin", "-lhard", run]);
        // The library is needed by path first: it has no short name until a search finds it.
        so(lab, "e/libpath.so", "int p;", &["$PWD/d/libhard.so"]);
        exe(
            lab,
            "path",
            MAIN,
            &["$PWD/d/libfig.so", "-Ld", "-lpear", "-Le", "-lpath", "-Wl,-rpath,$PWD/d:$PWD/e"],
        );
        for (name, soname) in [
            ("m", "libm.so.6"),
            ("c", "libc.so.6"),
            ("pthread", "libpthread.so.0"),
            ("x", "libxnet.so"),
            ("crypt", "libcrypt.so.1"),
            ("ld", "ld-musl-x86_64.so.1"),
        ] {
            so(lab, &format!("stub/lib{name}z.so"), "int z;", &[&format!("-Wl,-soname,{soname}")]);
        }
        exe(
            lab,
            "builtin",
            MAIN,
            &["-Lstub", "-lmz", "-lcz", "-lpthreadz", "-lxz", "-lcryptz", "-lldz"],
        );
        exe(lab, "glibc", MAIN, &["/lib/x86_64-linux-gnu/libc.so.6"]);
        exe(lab, "itself", MAIN, &["-Lstub", "-lldz", "-Wl,-rpath,/lib"]);
        // A libc under a name of its own is not loaded beside musl's.
        std::fs::copy("/lib/x86_64-linux-gnu/libc.so.6", lab.path("d/libother.so")).expect("libc");
        so(lab, "stub/libother.so", "int o;", &["-Wl,-soname,libother.so"]);
        exe(lab, "foreign", MAIN, &["-Lstub", "-lother", run]);
        let long = format!("{}.so", "n".repeat(300));
        so(lab, "stub/liblong.so", "int l;", &[&format!("-Wl,-soname,{long}")]);
        exe(lab, "long", MAIN, &["-Lstub", "-llong", run]);
        lib(lab, "d/libone.so", &["-Ld", "-lpear"]);
        lib(lab, "d/libtwo.so", &["-Ld", "-lpear", "-lone"]);
        exe(lab, "diamond", MAIN, &["-Ld", "-ltwo", "-lone", run]);
    };
    compare(
        "names",
        build,
        &[
            ("./soname", "", "", "Error loading shared library libreal.so.1"),
            ("./twins", "", "", "libpear.so => $PWD/d/libpear.so"),
            ("./path", "", "", "libpath.so"),
            ("./builtin", "", "", "libm.so.6 => /lib/ld-musl-x86_64.so.1"),
            ("./builtin", "", "", "Error loading shared library libcrypt.so.1"),
            ("./glibc", "", "", "libc.so.6 => /lib/ld-musl-x86_64.so.1"),
            ("./itself", "", "", "/lib/ld-musl-x86_64.so.1"),
            ("./foreign", "", "", "/lib/ld-musl-x86_64.so.1"),
            ("./long", "", "", "Error loading shared library"),
            ("./diamond", "", "", "libtwo.so => "),
        ],
    );
}

#[test]
fn bad_files() {
    let build = |lab: &Lab| {
        lib(lab, "good/libfig.so", &[]);
        lab.write("text/libfig.so", "INPUT(-lc) and some more text, longer than any ELF header is");
        lab.write("short/libfig.so", "\x7fELF");
        lab.write("void/libfig.so", "");
        lab.mkdir("dir/libfig.so");
        lab.write("file", "");
        lab.link("loop", "loop");
        lab.cc("rel/libfig.so", "int fig;", &["-c"], &[]);
        for dir in ["text", "short", "void", "dir", "rel", "loop", "file", "none"] {
            let run = format!("-Wl,-rpath,$PWD/{dir}:$PWD/good");
            exe(lab, &format!("in_{dir}"), MAIN, &["-Lgood", "-lfig", &run]);
        }
        exe(lab, "static", MAIN, &["-static"]);
    };
    compare(
        "bad files",
        build,
        &[
            ("./in_text", "", "", "Error loading shared library libfig.so: Exec format error"),
            ("./in_short", "", "", "Exec format error"),
            ("./in_void", "", "", "Exec format error"),
            ("./in_dir", "", "", "Is a directory"),
            ("./in_rel", "", "", "Exec format error"),
            ("./in_loop", "", "", "Symbolic link loop"),
            ("./in_file", "", "", "libfig.so => $PWD/good/libfig.so"),
            ("./in_none", "", "", "libfig.so => $PWD/good/libfig.so"),
        ],
    );
}

#[test]
fn symbols() {
    let build = |lab: &Lab| {
        let run = "-Wl,-rpath,$PWD/d";
        let source = "int odd(void);extern int data;int *p=&data;__attribute__((weak)) int w(void);
            int lib(void){return odd()+odd()+(w?w():0);}";
        so(lab, "d/libundef.so", source, &[]);
        exe(lab, "undef", MAIN, &["-Ld", "-lundef", run]);
        lab.write("v.map", "V1 { global: f; }; V2 { global: f; } V1;");
        let source = "__asm__(\".symver f1,f@V1\\n.symver f2,f@@V2\");int f1(void){return 1;}int f2(void){return 2;}";
        so(lab, "d/libver.so", source, &["-Wl,--version-script,v.map"]);
        exe(lab, "versions", "int f(void);int main(void){return f();}", &["-Ld", "-lver", run]);
        let source = "__asm__(\".symver f1,f@V1\");int f1(void){return 1;}";
        lab.write("v1.map", "V1 { global: f; };");
        so(lab, "n/libver.so", source, &["-Wl,--version-script,v1.map"]);
        exe(
            lab,
            "hidden",
            "int f(void);int main(void){return f();}",
            &["-Ld", "-lver", "-Wl,-rpath,$PWD/n"],
        );
        so(
            lab,
            "d/libifunc.so",
            "static int g(void){return 1;}static void *r(void){return g;}int i(void) __attribute__((ifunc(\"r\")));",
            &[],
        );
        exe(lab, "ifunc", "int i(void);int main(void){return i();}", &["-Ld", "-lifunc", run]);
        so(lab, "d/libdata.so", "int shared[4]={1};", &[]);
        so(lab, "n/libdata.so", "int nothing;", &[]);
        exe(
            lab,
            "copy",
            "extern int shared[4];int main(void){return shared[0];}",
            &["-no-pie", "-Ld", "-ldata", run],
        );
        exe(
            lab,
            "uncopied",
            "extern int shared[4];int main(void){return shared[0];}",
            &["-no-pie", "-Ld", "-ldata", "-Wl,-rpath,$PWD/n"],
        );
        so(lab, "d/libtls.so", "__thread int t=1;", &[]);
        exe(lab, "tls", "extern __thread int t;int main(void){return t;}", &["-Ld", "-ltls", run]);
        exe(
            lab,
            "notls",
            "extern __thread int t;int main(void){return t;}",
            &["-Ld", "-ltls", "-Wl,-rpath,/none"],
        );
        so(lab, "d/libsysv.so", "int s(void){return 1;}", &["-Wl,--hash-style=sysv"]);
        exe(lab, "sysv", "int s(void);int main(void){return s();}", &["-Ld", "-lsysv", run]);
        so(
            lab,
            "d/libprot.so",
            "__attribute__((visibility(\"protected\"))) int q(void){return 1;}int u(void){return q();}",
            &[],
        );
        exe(
            lab,
            "protected",
            "int q(void);int u(void);int main(void){return q()+u();}",
            &["-Ld", "-lprot", run],
        );
        so(lab, "d/libodd.so", "int odd(void){return 1;}int data;", &[]);
    };
    compare(
        "symbols",
        build,
        &[
            ("./undef", "", "", "Error relocating $PWD/d/libundef.so: odd: symbol not found"),
            ("./undef", "", "$PWD/d/libodd.so", "libundef.so"),
            ("./versions", "", "", "libver.so"),
            ("./hidden", "", "", "f: symbol not found"),
            ("./ifunc", "", "", "i: symbol not found"),
            ("./copy", "", "", "libdata.so"),
            ("./uncopied", "", "", "shared: symbol not found"),
            ("./tls", "", "", "libtls.so"),
            ("./notls", "", "", "t: symbol not found"),
            ("./sysv", "", "", "libsysv.so"),
            ("./protected", "", "", "libprot.so"),
        ],
    );
}

#[test]
fn preload() {
    let build = |lab: &Lab| {
        lib(lab, "d/libfig.so", &[]);
        lib(lab, "d/libpre.so", &["-Ld", "-lfig"]);
        exe(lab, "bare", MAIN, &[]);
        exe(lab, "run", MAIN, &["-Ld", "-lfig", "-Wl,-rpath,$PWD/d"]);
        exe(lab, "path", MAIN, &["-Wl,-rpath,$PWD/d"]);
    };
    compare(
        "preload",
        build,
        &[
            ("./bare", "", "$PWD/d/libfig.so", "$PWD/d/libfig.so => $PWD/d/libfig.so"),
            ("./bare", "", "none.so:$PWD/d/libfig.so", "libfig.so"),
            ("./run", "", "libfig.so", "libfig.so => $PWD/d/libfig.so"),
            ("./run", "", "$PWD/d/libfig.so", "libfig.so"),
            ("./bare", "$PWD/d", "libfig.so libpre.so", "libpre.so"),
            ("./bare", "", "$PWD/d/libpre.so", "Error loading shared library libfig.so"),
            // The program does not request the preloaded library, so its search path does not
            // count.
            ("./path", "", "$PWD/d/libpre.so", "Error loading shared library libfig.so"),
        ],
    );
}

/// musl maps a library of another machine without a check: the audit reports that it cannot be
/// relocated.
#[test]
fn a_library_of_another_machine_is_no_clean_bill() {
    if !musl::is_there("musl cases: another machine") {
        return;
    }
    let lab = Lab::new();
    lib(&lab, "d/libfig.so", &[]);
    exe(&lab, "app", MAIN, &["-Ld", "-lfig", "-Wl,-rpath,$PWD/d"]);
    let mut bytes = std::fs::read(lab.path("d/libfig.so")).expect("the library");
    // e_machine: EM_AARCH64
    bytes[18] = 183;
    lab.write("d/libfig.so", bytes);
    let output = lab.linkaudit(&["app"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("bad-library-file") && text.contains("foreign"), "{text}");
}

/// The loader in PT_INTERP decides the rules, unless `--loader` names another.
#[test]
fn whose_rules_hold() {
    if !musl::is_there("musl cases: whose rules hold") {
        return;
    }
    let lab = Lab::new();
    lib(&lab, "d/libfig.so", &[]);
    exe(&lab, "app", MAIN, &["-Ld", "-lfig", "-Wl,-rpath,$PWD/d"]);
    let how = |args: &[&str]| {
        let output = lab.linkaudit(&[&["--format", "json", "app"], args].concat());
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let needs = report["files"].as_array().expect("files").iter();
        let mut needs = needs.flat_map(|file| file["needed"].as_array().expect("needs").iter());
        let libc = needs.find(|need| need["name"] == "libc.so").map(|need| need["how"].clone());
        libc.map(|how| how.as_str().expect("a word").to_owned())
    };
    assert_eq!(how(&[]).as_deref(), Some("builtin"));
    assert_eq!(how(&["--loader", "auto"]).as_deref(), Some("builtin"));
    assert_eq!(how(&["--loader", "musl"]).as_deref(), Some("builtin"));
    assert_ne!(how(&["--loader", "glibc"]).as_deref(), Some("builtin"));
    assert_ne!(how(&["--as-ldd"]).as_deref(), Some("builtin"));
}

#[test]
fn root_of_another_release() {
    if !musl::is_there("musl cases: root") {
        return;
    }
    let chroot = clean("chroot").args(["/", "true"]).status();
    if !chroot.is_ok_and(|status| status.success()) {
        return skip("debian_roots", "needs root for chroot");
    }
    let packages = Debian::new("trixie", "amd64").and_then(|debian| debian.fetch(&["musl"]));
    let packages = match packages {
        Ok(packages) => packages,
        Err(reason) => return skip("musl cases: root", &reason),
    };
    let lab = Lab::new();
    let root = lab.path("r");
    let musl = |path: &&std::path::PathBuf| path.to_string_lossy().contains("/musl_");
    let musl: Vec<_> = packages.iter().filter(musl).cloned().collect();
    debian::unpack_merged(&musl, &root).expect("a package that unpacks");
    let source = "int open64(void),stat64(void),fopen64(void),nope64(void),readdir64_r(void);
        int fig(void){return open64()+stat64()+fopen64()+nope64()+readdir64_r();}";
    so(&lab, "r/srv/lib/libfig.so", source, &[]);
    exe(&lab, "r/opt/app", MAIN, &["-Lr/srv/lib", "-lfig"]);
    exe(&lab, "r/opt/path", MAIN, &["-Lr/srv/lib", "-lfig", "-Wl,-rpath,$ORIGIN/../srv/lib"]);
    let mut tally = Tally::default();
    for (list, name) in [
        (None, "/opt/app"),
        (None, "/opt/path"),
        (Some("/usr/lib\n/srv/lib\n"), "/opt/app"),
        (Some(""), "/opt/path"),
    ] {
        if let Some(list) = list {
            lab.write("r/etc/ld-musl-x86_64.path", list);
        }
        let output = clean("chroot").arg(&root).args([LOADER, "--list", name]).output();
        let output = output.expect("chroot runs");
        let theirs = [output.stdout, output.stderr].concat();
        let theirs = distinct(&normalise(&String::from_utf8_lossy(&theirs)));
        let mut command = linkaudit();
        command.arg("--root").arg(&root).args(["--as-ldd", "--format", "ldd", name]);
        let output = command.output().expect("linkaudit runs");
        let ours = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(theirs.contains("ld-musl"), "{theirs}");
        tally.compare(&format!("{name} with {list:?}"), &ours, &theirs);
    }
    tally.finish("musl cases: a root with musl 1.2.5");
}
