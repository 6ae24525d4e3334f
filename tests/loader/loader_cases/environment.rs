//! Compares LD_LIBRARY_PATH and LD_PRELOAD in the loader with `--ld-library-path` and
//! `--ld-preload` in linkaudit.
//!
//! The loader is called directly: `ldd` is a script, and its shell would load the preloaded
//! libraries.

use super::kit::{guard, lib, prog, see, so};
use crate::support::{Lab, Tally, clean, normalise};

/// A file, LD_LIBRARY_PATH, LD_PRELOAD, and texts that the real answer must contain.
type Asked = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// A library that was found in the current directory.
const HERE: &str = "\tlibfig.so\n";
const IGNORED: &str = "cannot be preloaded (cannot open shared object file): ignored.";

fn compare(theme: &str, build: fn(&Lab), asked: &[Asked]) {
    let lab = Lab::new();
    build(&lab);
    let mut tally = Tally::default();
    let mut broken = Vec::new();
    for (file, library_path, preload, shows) in asked {
        let case = format!("{file} LD_LIBRARY_PATH={library_path} LD_PRELOAD={preload}");
        let here = lab.root();
        let here = here.to_str().expect("a laboratory path in UTF-8");
        let (path, preload) = (library_path.replace("$PWD", here), preload.replace("$PWD", here));
        let mut loader = clean("/lib64/ld-linux-x86-64.so.2");
        for name in ["LD_TRACE_LOADED_OBJECTS", "LD_WARN", "LD_BIND_NOW"] {
            loader.env(name, "1");
        }
        loader.env("LD_LIBRARY_PATH", &path).env("LD_PRELOAD", &preload);
        let output = loader.current_dir(lab.root()).arg(file).output().expect("the loader runs");
        let theirs = [output.stdout, output.stderr].concat();
        let theirs = normalise(&String::from_utf8_lossy(&theirs));
        broken.extend(guard(&case, &see(file, shows), &lab, &theirs));
        let words = ["--ld-library-path", &path, "--ld-preload", &preload];
        let output = lab.linkaudit(&[&words[..], &["--as-ldd", "--format", "ldd", file]].concat());
        tally.compare(&case, &String::from_utf8_lossy(&output.stdout), &theirs);
    }
    assert!(broken.is_empty(), "{theme}: cases that miss their rule\n{}", broken.join("\n"));
    tally.finish(&format!("loader cases: {theme}"));
}

#[test]
fn library_path() {
    let build = |lab: &Lab| {
        for dir in ["a", "b", "c", "sub/a", "a/glibc-hwcaps/x86-64-v2", "a/lib/x86_64-linux-gnu"] {
            lib(lab, &format!("{dir}/libfig.so"), &[], "");
        }
        lib(lab, "libfig.so", &[], "");
        lib(lab, "plain/libfig.so", &[], "");
        lib(lab, "deep/libpear.so", &["a/libfig.so"], "");
        lib(lab, "deep/libplum.so", &["a/libfig.so"], "runpath=$PWD/b");
        prog(lab, "bare", &["a/libfig.so"], "");
        prog(lab, "sub/bare", &["a/libfig.so"], "");
        prog(lab, "rpath", &["a/libfig.so"], "rpath=$PWD/b");
        prog(lab, "runpath", &["a/libfig.so"], "runpath=$PWD/b");
        prog(lab, "nodef", &["a/libfig.so"], "z=nodefaultlib");
        prog(lab, "chain", &["deep/libpear.so"], "");
        prog(lab, "own", &["deep/libplum.so"], "");
        lab.write(
            "text/libfig.so",
            "not a library, but long enough to hold an ELF header's bytes....",
        );
        lab.link("bare", "linked");
    };
    compare(
        "LD_LIBRARY_PATH",
        build,
        &[
            ("./bare", "$PWD/plain", "", &["libfig.so => $PWD/plain/libfig.so"]),
            ("./bare", "$PWD/a", "", &["$PWD/a/glibc-hwcaps/x86-64-v2/libfig.so"]),
            ("./rpath", "$PWD/c", "", &["$PWD/b/libfig.so"]),
            ("./runpath", "$PWD/c", "", &["$PWD/c/libfig.so"]),
            ("./nodef", "$PWD/c", "", &["$PWD/c/libfig.so"]),
            ("./bare", "/none;$PWD/c", "", &["$PWD/c/libfig.so"]),
            ("./bare", "/none:$PWD/b;$PWD/c", "", &["$PWD/b/libfig.so"]),
            ("./bare", ":", "", &[HERE]),
            ("./bare", ";", "", &[HERE]),
            ("./bare", "/none:", "", &[HERE]),
            ("./bare", ":$PWD/c", "", &[HERE]),
            ("./bare", "/none", "", &["libfig.so => not found"]),
            ("./bare", "c", "", &["libfig.so => c/libfig.so"]),
            ("./bare", "./c//", "", &["libfig.so => ./c/libfig.so"]),
            ("./sub/bare", "$ORIGIN/a", "", &["sub/a/libfig.so"]),
            ("./bare", "$ORIGIN/c:$PWD/b", "", &["$PWD/./c/libfig.so"]),
            ("./bare", "${ORIGIN}/a/$LIB", "", &["libfig.so => "]),
            ("./bare", "$ORIGINX:$FOO/x:$PWD/c", "", &["$PWD/c/libfig.so"]),
            ("./chain", "$PWD/deep:$PWD/c", "", &["$PWD/c/libfig.so"]),
            ("./chain", "$ORIGIN/deep:$ORIGIN/c", "", &["$PWD/./c/libfig.so"]),
            ("./own", "$PWD/deep:$PWD/c", "", &["$PWD/c/libfig.so"]),
            ("./own", "$PWD/deep", "", &["$PWD/b/libfig.so"]),
            ("./bare", "$PWD/text:$PWD/c", "", &["error while loading shared libraries"]),
            ("./bare", "$PWD/bare:$PWD/c", "", &["libfig.so => "]),
            ("./linked", "$ORIGIN/c", "", &["c/libfig.so"]),
            ("./bare", "$PWD/c $PWD/b", "", &["libfig.so => not found"]),
        ],
    );
}

#[test]
fn preload() {
    let build = |lab: &Lab| {
        lib(lab, "a/libfig.so", &[], "");
        lib(lab, "a/libpear.so", &[], "");
        lib(lab, "a/libneeds.so", &["a/libpear.so"], "");
        lib(lab, "b/libgone.so", &["a/libpear.so"], "");
        so(lab, "a/libover.so", "int fig(void){return 7;}", "soname=libover.so");
        lib(lab, "b/libown.so", &["a/libfig.so"], "runpath=$PWD/a");
        prog(lab, "bare", &["a/libfig.so"], "");
        prog(lab, "rpath", &["a/libfig.so"], "rpath=$PWD/a");
        prog(lab, "runpath", &["a/libfig.so"], "runpath=$PWD/a");
        let source = "int odd(void);int ref(void){return odd();}";
        so(lab, "a/libref.so", source, "soname=libref.so");
        prog(lab, "undefined", &["a/libref.so"], "rpath=$PWD/a");
        so(lab, "a/libodd.so", "int odd(void){return 7;}", "soname=libodd.so");
        lab.write("text.so", "not a library, but long enough to hold an ELF header's bytes....");
        lab.mkdir("dir.so");
    };
    compare(
        "LD_PRELOAD",
        build,
        &[
            ("./rpath", "", "$PWD/a/libover.so", &["\t$PWD/a/libover.so\n"]),
            ("./rpath", "", "libpear.so", &["libpear.so => $PWD/a/libpear.so"]),
            ("./runpath", "", "libpear.so", &["libpear.so => $PWD/a/libpear.so"]),
            ("./bare", "$PWD/a", "libpear.so", &["libpear.so => $PWD/a/libpear.so"]),
            ("./bare", "", "libpear.so", &["'libpear.so' from LD_PRELOAD", IGNORED]),
            ("./bare", "", "none.so:/none/x.so a/libover.so", &["\ta/libover.so\n", IGNORED]),
            ("./rpath", "", " a/libover.so::a/libpear.so ", &["\ta/libpear.so\n"]),
            ("./rpath", "", "libfig.so", &["libfig.so => $PWD/a/libfig.so"]),
            ("./rpath", "", "a/libfig.so", &["\ta/libfig.so\n"]),
            ("./rpath", "", "a/libpear.so a/libpear.so", &["\ta/libpear.so\n"]),
            ("./rpath", "", "a/libneeds.so", &["libpear.so => $PWD/a/libpear.so"]),
            ("./bare", "", "b/libgone.so", &["libpear.so => not found"]),
            ("./bare", "", "b/libown.so", &["libfig.so => "]),
            ("./bare", "", "text.so", &["'text.so' from LD_PRELOAD"]),
            ("./bare", "", "./text.so", &["'./text.so' from LD_PRELOAD"]),
            ("./bare", "", "./dir.so", &["'./dir.so' from LD_PRELOAD"]),
            ("./bare", "", "$ORIGIN/a/libover.so", &["libover.so"]),
            ("./bare", "", "$NONE/libover.so", &[IGNORED]),
            ("./undefined", "", "", &["undefined symbol: odd"]),
            ("./undefined", "", "a/libodd.so", &["!undefined symbol: odd"]),
            ("./bare", "", "./bare", &["LD_PRELOAD"]),
        ],
    );
}
