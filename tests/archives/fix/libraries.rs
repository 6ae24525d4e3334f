//! Libraries that a fix links, and archives that it never links. A library that was linked without
//! another library gets only that library, and not the archive of the C library.

use super::kit::{archive, object, text, tool};
use crate::support::{Lab, has, skip};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsStr;

/// The file names of all fixes, and true if all are verified.
pub(super) fn fixes(lab: &Lab, args: &[&str]) -> (BTreeSet<String>, bool) {
    let run = lab.linkaudit(&[&["fix"], args, &["--format", "json"]].concat());
    let report: Value = serde_json::from_slice(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&run.stderr)));
    let mut names = BTreeSet::new();
    let mut verified = run.status.code() == Some(0);
    for finding in report["findings"].as_array().expect("findings") {
        for fix in finding["fix"].as_array().expect("fixes") {
            let entry = fix["entry"].as_str().expect("an entry");
            names.insert(entry.rsplit('/').next().unwrap_or(entry).to_owned());
            verified &= fix["proven"] == true;
        }
    }
    (names, verified)
}

pub(super) fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_shared_library_comes_before_archives() {
    let lab = Lab::new();
    object(&lab, "user.o", "int g(void), h(void); int user(void) { return g() + h(); }");
    object(&lab, "g.o", "int g(void) { return 1; }");
    object(&lab, "h.o", "int h(void) { return 1; }");
    tool(&lab, "mkdir parts; cc -shared -o libuser.so user.o; cc -shared -o parts/libg.so g.o h.o");
    archive(&lab, OsStr::new("parts/libg.a"), &["g.o"]);
    archive(&lab, OsStr::new("parts/libh.a"), &["h.o"]);
    let args = ["libuser.so", "--lib-path", "parts"];
    assert_eq!(fixes(&lab, &args), (set(&["libg.so"]), true));
    // A library that has undefined symbols itself is not verified.
    object(&lab, "h.o", "int gone(void); int h(void) { return gone(); }");
    tool(&lab, "cc -shared -o parts/libg.so g.o h.o");
    assert_eq!(fixes(&lab, &args), (set(&["libg.so"]), false));
    tool(&lab, "rm parts/libg.so parts/libh.a; cc -shared -o parts/libg.so g.o");
    let (names, _) = fixes(&lab, &args);
    assert_eq!(names, set(&["libg.so"]));
    tool(&lab, "rm parts/libg.so");
    assert_eq!(fixes(&lab, &args).0, set(&["libg.a"]));
}

/// An archive that the link needs anyway, and that has everything, replaces the shared library.
#[test]
fn one_copy_of_a_library_is_linked() {
    let lab = Lab::new();
    object(&lab, "user.o", "int g(void), own(void); int user(void) { return g() + own(); }");
    object(&lab, "g.o", "int g(void) { return 1; }");
    object(&lab, "h.o", "int h(void) { return 1; }");
    object(&lab, "own.o", "int own(void) { return 1; }");
    let link = "cc -shared -Wl,-soname,libg.so -o p/lib/libg.so g.o h.o";
    tool(&lab, &format!("mkdir -p p/lib; cc -shared -o p/lib/libuser.so user.o; {link}"));
    archive(&lab, OsStr::new("p/lib/libg.a"), &["g.o", "own.o"]);
    let args = ["p", "--lib-path", "p/lib"];
    assert_eq!(fixes(&lab, &args), (set(&["libg.a"]), true));
    tool(&lab, "cc -shared -Wl,-z,defs -o new.so user.o p/lib/libg.a");
    // Only the library has `h`.
    object(&lab, "more.o", "int h(void); int more(void) { return h(); }");
    tool(&lab, "cc -shared -o p/lib/libuser.so user.o more.o");
    assert_eq!(fixes(&lab, &args).0, set(&["libg.a", "libg.so"]));
    let said = text(&lab.linkaudit(&[&["fix"], &args[..]].concat()).stdout);
    assert!(said.contains("or, the shared libraries alone, without linking again:"), "{said}");
}

/// If linkers reject the archive, the fix links the library for the symbols that the library has.
#[test]
fn a_library_replaces_an_archive_that_is_refused() {
    let lab = Lab::new();
    object(&lab, "user.o", "int g(void), own(void); int user(void) { return g() + own(); }");
    object(&lab, "g.o", "int g(void) { return 1; }");
    tool(&lab, "mkdir p; cc -shared -o p/libuser.so user.o; cc -shared -o p/libg.so g.o");
    for name in ["g", "own"] {
        let source = format!("static int x; int *{name}(void) {{ return &x; }}");
        lab.write(&format!("{name}.c"), &source);
        tool(&lab, &format!("cc -c -fno-pic -o {name}.o {name}.c"));
    }
    archive(&lab, OsStr::new("p/libg.a"), &["g.o", "own.o"]);
    let said = text(&lab.linkaudit(&["fix", "p", "--lib-path", "p", "--format", "json"]).stdout);
    let report: Value = serde_json::from_str(&said).expect("a report");
    let mut found = BTreeSet::new();
    for finding in report["findings"].as_array().expect("findings") {
        for fix in finding["fix"].as_array().expect("fixes") {
            let entry = fix["entry"].as_str().expect("an entry");
            let name = entry.rsplit('/').next().unwrap_or(entry).to_owned();
            let symbol = finding["symbol"].as_str().expect("a symbol").to_owned();
            found.insert((symbol, name, fix["proven"] == true));
        }
    }
    let of = |symbol: &str, name: &str, proven| (symbol.to_owned(), name.to_owned(), proven);
    let expected = [of("g", "libg.so", true), of("own", "libg.a", false)];
    assert_eq!(found, expected.into_iter().collect());
}

/// A project may name an archive as glibc does, or have a directory `gcc`.
#[test]
fn archives_with_names_of_the_system() {
    let lab = Lab::new();
    object(&lab, "user.o", "int f(void), g(void); int user(void) { return f() + g(); }");
    object(&lab, "f.o", "int f(void) { return 1; }");
    object(&lab, "g.o", "int g(void) { return 1; }");
    tool(&lab, "mkdir -p parts/lib/gcc/12; cc -shared -o libuser.so user.o");
    archive(&lab, OsStr::new("parts/lib/libutil.a"), &["f.o"]);
    archive(&lab, OsStr::new("parts/lib/gcc/libvendor.a"), &["g.o"]);
    let dirs = ["parts/lib", "parts/lib/gcc", "parts/lib/gcc/12"];
    let dirs = dirs.iter().flat_map(|dir| ["--lib-path", *dir]);
    let args: Vec<&str> = std::iter::once("libuser.so").chain(dirs).collect();
    assert_eq!(fixes(&lab, &args), (set(&["libutil.a", "libvendor.a"]), true));
    // Beside a C library, and in the directory of a version, they are of the system.
    archive(&lab, OsStr::new("parts/lib/libc.a"), &["user.o"]);
    tool(&lab, "mv parts/lib/gcc/libvendor.a parts/lib/gcc/12/libgcc.a");
    assert_eq!(fixes(&lab, &args).0, set(&[]));
}

/// For a file that was linked without the C library, the fix names the C library if the archives
/// need it.
#[test]
fn a_link_without_libc_is_told() {
    let lab = Lab::new();
    object(&lab, "user.o", "int f(void); int user(void) { return f(); }");
    object(&lab, "f.o", "int put(void); int f(void) { return put(); }");
    object(&lab, "put.o", "int put(void) { return 1; }");
    archive(&lab, OsStr::new("parts/libf.a"), &["f.o"]);
    let libc = "cc -shared -nostdlib -Wl,-soname,libc.so.6 -o parts/libc.so.6 put.o";
    tool(&lab, &format!("cc -shared -nostdlib -o libuser.so user.o; {libc}"));
    let said = text(&lab.linkaudit(&["fix", "libuser.so", "--lib-path", "parts"]).stdout);
    let words = "would be undefined: libc.so.6 defines them, link it too";
    assert!(said.contains(words), "{said}");
    tool(&lab, "cc -shared -nostdlib -Wl,-z,defs -o new.so user.o parts/libf.a parts/libc.so.6");
}

/// A compiler adds the C library to the link of a library that does not need it yet. A link without
/// the start files or without the default libraries does not have it.
#[test]
fn a_compiler_adds_libc() {
    let lab = Lab::new();
    object(&lab, "user.o", "int f(void); int user(void) { return f(); }");
    object(&lab, "own.o", "int f(void), getpid(void); int user(void) { return f() + getpid(); }");
    let f = "int puts(const char *), atexit(void (*)(void)); static void g(void) {} \
             int f(void) { return puts(\"\") + atexit(g); }";
    object(&lab, "f.o", f);
    object(&lab, "g.o", "int getpid(void); int g(void) { return getpid(); }");
    archive(&lab, OsStr::new("parts/libf.a"), &["f.o"]);
    tool(&lab, "cc -shared -Wl,-soname,libg.so -o libg.so g.o");
    let said_of = |shown: &str| shown.contains("a compiler links the file again, which adds libc");
    for (inputs, links) in [
        ("user.o", true),
        ("-Wl,--no-as-needed user.o", true),
        // Only `libg.so` needs the C library.
        ("-Wl,-rpath,$ORIGIN user.o -Wl,--no-as-needed libg.so -Wl,--as-needed", true),
        ("-nostdlib user.o", false),
        ("-nodefaultlibs own.o", false),
    ] {
        let link = |output: &str, more: &str| {
            format!(
                "cc -shared -Wl,--as-needed -o {output} '{}' {more}",
                inputs.replace(' ', "' '")
            )
        };
        tool(&lab, &link("libuser.so", ""));
        let needs_libc = tool(&lab, "readelf -dW libuser.so").contains("[libc.so.6]");
        let again = lab.sh(&link("new.so", "-Wl,-z,defs parts/libf.a")).status.success();
        assert_eq!(again, links, "{inputs}");
        let args = ["libuser.so", "--lib-path", "parts"];
        let (names, is_verified) = fixes(&lab, &args);
        if links {
            assert_eq!((names, is_verified), (set(&["libf.a"]), true), "{inputs}");
            let loaded = tool(&lab, "ldd -r new.so 2>&1");
            assert!(loaded.contains("libc.so.6 =>") && !loaded.contains("undefined"), "{loaded}");
        } else {
            assert!(!is_verified, "{inputs}");
        }
        let shown = text(&lab.linkaudit(&[&["fix"], &args[..]].concat()).stdout);
        assert_eq!(said_of(&shown), links && !needs_libc, "{inputs}: {shown}");
    }
}

#[test]
fn libssl_without_libcrypto_gets_libcrypto() {
    let dir = "/usr/lib/x86_64-linux-gnu";
    let there = |name: &str| std::path::Path::new(dir).join(name).is_file();
    if !["libssl.a", "libcrypto.a", "libcrypto.so", "libc.a"].into_iter().all(there) {
        return skip("libssl_without_libcrypto_gets_libcrypto", "libssl-dev is not installed");
    }
    let lab = Lab::new();
    tool(
        &lab,
        &format!(
            "mkdir parts shared; cc -shared -o libssl.so -Wl,--whole-archive {dir}/libssl.a \
             -Wl,--no-whole-archive; cp {dir}/libcrypto.a {dir}/libc.a {dir}/libm.a parts || true; \
             cp {dir}/libcrypto.so shared"
        ),
    );
    let undefined = lab.undefined("libssl.so");
    assert!(undefined.len() > 100, "{undefined:?}");
    assert_eq!(fixes(&lab, &["libssl.so", "--lib-path", "parts"]), (set(&["libcrypto.a"]), true));
    let both = ["libssl.so", "--lib-path", "parts", "--lib-path", "shared"];
    // The shared library keeps a few functions to itself that `libssl.a` takes from the archive.
    // With both, the process would have two copies of the others.
    assert_eq!(fixes(&lab, &both), (set(&["libcrypto.a"]), true));
    // The linker and the loader agree.
    tool(
        &lab,
        &format!(
            "cc -shared -o new.so -Wl,--whole-archive {dir}/libssl.a -Wl,--no-whole-archive \
         -Wl,-z,defs parts/libcrypto.a"
        ),
    );
    assert!(lab.undefined("new.so").is_empty());
    println!("libssl: {} undefined symbols, 2 places, 0 differences", undefined.len());
}

/// Each hard link of a program has its own `$ORIGIN`, and so its own libraries. A new need must not
/// bind the references of any link to another library. patchelf and the loader are the oracle.
#[test]
fn a_need_serves_all_hard_links() {
    if !has("patchelf") {
        return skip("a_need_serves_all_hard_links", "patchelf is not installed");
    }
    // One of the links has the other library `libown.so`, which brings `libg.so` already.
    for (with_f, without_f) in [("a", "z"), ("z", "a")] {
        for is_defined in [true, false] {
            let lab = Lab::new();
            object(&lab, "g.o", "int g(void) { return 0; } int f(void) { return 2; }");
            let own = if is_defined { "int f(void) { return 1; }" } else { "int x;" };
            object(&lab, "f.o", own);
            object(&lab, "own.o", "int own;");
            lab.write("m.c", "int f(void), g(void); int main(void) { return f() + g(); }");
            let script = format!(
                "mkdir -p t/{with_f}/bin t/{with_f}/lib t/{without_f}/bin t/{without_f}/lib; \
                 cc -shared -Wl,-soname,libg.so -o t/{with_f}/lib/libg.so g.o; \
                 ln t/{with_f}/lib/libg.so t/{without_f}/lib/libg.so; \
                 cc -shared -Wl,-soname,libown.so -o t/{with_f}/lib/libown.so f.o; \
                 cc -shared -Wl,-soname,libown.so,--no-as-needed -o t/{without_f}/lib/libown.so \
                 own.o t/{with_f}/lib/libg.so; \
                 patchelf --set-rpath '$ORIGIN' t/{without_f}/lib/libown.so; \
                 cc -shared -Wl,-soname,libown.so -o stub.so g.o; \
                 cc -o t/a/bin/m m.c -Wl,-rpath,'$ORIGIN/../lib' stub.so; ln t/a/bin/m t/z/bin/m"
            );
            tool(&lab, &script);
            let said = text(&lab.linkaudit(&["fix", "t", "--isolated"]).stdout);
            let status = |lab: &Lab, dir: &str| {
                lab.sh(&format!("LD_BIND_NOW=1 t/{dir}/bin/m")).status.code()
            };
            assert_eq!(status(&lab, without_f), Some(2), "{with_f}");
            tool(&lab, "patchelf --add-needed libg.so t/a/bin/m");
            // The reference to `f` was bound to `libown.so`, and is not any more.
            assert_eq!(status(&lab, with_f), Some(2), "{with_f}");
            let is_offered = said.contains("patchelf --add-needed libg.so ");
            assert_eq!(is_offered, !is_defined, "{with_f}: {said}");
        }
    }
}
