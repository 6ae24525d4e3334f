//! The library or archive that a fix chooses if several define a symbol. Each chosen file is
//! linked, and `ldd -r` reads the result.

use super::kit::{archive, object, text, tool};
use super::libraries::{fixes, set};
use crate::support::Lab;
use std::ffi::OsStr;

/// Links `NAME.o` as a library with a soname. `more` has further words of the command.
fn library(lab: &Lab, path: &str, objects: &str, more: &str) {
    let soname = path.rsplit('/').next().unwrap_or(path);
    tool(lab, &format!("cc -shared -Wl,-soname,{soname} -o {path} {objects} {more}"));
}

/// Links again with the words of `--emit link-line`, without undefined symbols.
fn link_again(lab: &Lab, objects: &str, args: &[&str]) {
    let run = lab.linkaudit(&[&["fix"], args, &["--emit", "link-line"]].concat());
    let line = text(&run.stdout);
    tool(lab, &format!("cc -shared -Wl,-z,defs -Wl,-rpath,p/lib -o new.so {objects} {line}"));
    assert!(lab.undefined("new.so").is_empty(), "{line}");
}

/// A runtime of a sanitizer defines functions that it intercepts.
#[test]
fn runtimes_that_replace_functions_are_left_out() {
    let lab = Lab::new();
    object(&lab, "user.o", "int encrypt_it(void); int user(void) { return encrypt_it(); }");
    object(&lab, "crypt.o", "int encrypt_it(void) { return 1; }");
    object(
        &lab,
        "asan.o",
        "int encrypt_it(void) { return 2; } int __asan_init(void) { return 3; }",
    );
    tool(&lab, "mkdir -p p/lib; cc -shared -o libuser.so user.o");
    library(&lab, "p/lib/libasan.so.8", "asan.o", "");
    library(&lab, "p/lib/libfakeroot-sysv.so", "crypt.o", "");
    let args = ["libuser.so", "--lib-path", "p/lib"];
    assert_eq!(fixes(&lab, &args).0, set(&[]));
    let said = text(&lab.linkaudit(&[&["check"], &args[..]].concat()).stdout);
    assert!(!said.contains("libasan") && !said.contains("libfakeroot"), "{said}");
    library(&lab, "p/lib/libcrypted.so.1", "crypt.o", "");
    assert_eq!(fixes(&lab, &args), (set(&["libcrypted.so.1"]), true));
    link_again(&lab, "user.o", &args);
    // A name of the runtime itself: the object was compiled for the sanitizer.
    object(&lab, "user.o", "int __asan_init(void); int user(void) { return __asan_init(); }");
    tool(&lab, "cc -shared -o libuser.so user.o");
    assert_eq!(fixes(&lab, &args), (set(&["libasan.so.8"]), true));
    link_again(&lab, "user.o", &args);
}

/// Two libraries that define the same names, and an object that lacks one of these names.
fn rivals() -> Lab {
    let lab = Lab::new();
    object(&lab, "user.o", "int readline_(void); int user(void) { return readline_(); }");
    object(&lab, "edit.o", "int readline_(void) { return 1; }");
    object(&lab, "line.o", "int readline_(void) { return 1 + 1; } int more(void) { return 3; }");
    tool(&lab, "mkdir -p p/lib/own; cc -shared -o libuser.so user.o");
    lab
}

const ARGS: [&str; 3] = ["libuser.so", "--lib-path", "p"];

#[test]
fn a_development_link_decides() {
    let lab = rivals();
    library(&lab, "p/lib/libaedit.so.2", "edit.o", "");
    library(&lab, "p/lib/libline.so.8", "line.o", "");
    // Nothing decides.
    assert_eq!(fixes(&lab, &ARGS), (set(&["libaedit.so.2"]), false));
    let said = text(&lab.linkaudit(&[&["fix"], &ARGS[..]].concat()).stdout);
    let words = "not verified: libline.so.8 defines the same symbols: choose one library";
    assert!(said.contains(words), "{said}");
    tool(&lab, "ln -s libline.so.8 p/lib/libline.so");
    assert_eq!(fixes(&lab, &ARGS), (set(&["libline.so.8"]), true));
    link_again(&lab, "user.o", &ARGS);
    // Two editions of one library.
    tool(
        &lab,
        "rm p/lib/libline.so; cp p/lib/libaedit.so.2 p/lib/own/libaedit.so.2; rm p/lib/libline*",
    );
    assert_eq!(fixes(&lab, &ARGS), (set(&["libaedit.so.2"]), true));
}

#[test]
fn a_private_library_comes_last() {
    let lab = rivals();
    object(
        &lab,
        "user.o",
        "int readline_(void), more(void); int user(void) { return readline_() + more(); }",
    );
    tool(&lab, "cc -shared -o libuser.so user.o; mv line.o both.o");
    object(&lab, "more.o", "int more(void) { return 4; }");
    library(&lab, "p/lib/own/libbin.so", "both.o", "");
    library(&lab, "p/lib/libaedit.so.2", "edit.o", "");
    library(&lab, "p/lib/libmore.so.1", "more.o", "");
    assert_eq!(fixes(&lab, &ARGS), (set(&["libaedit.so.2", "libmore.so.1"]), true));
    link_again(&lab, "user.o", &ARGS);
}

#[test]
fn a_library_that_others_need_decides() {
    let lab = rivals();
    library(&lab, "p/lib/libaedit.so.2", "edit.o", "");
    library(&lab, "p/lib/libline.so.8", "line.o", "");
    object(&lab, "other.o", "int more(void); int other(void) { return more(); }");
    tool(&lab, "cc -shared -o libother.so other.o p/lib/libline.so.8 -Wl,-rpath,$PWD/p/lib");
    let args = ["libuser.so", "libother.so", "--lib-path", "p"];
    assert_eq!(fixes(&lab, &args), (set(&["libline.so.8"]), true));
}

#[test]
fn the_library_with_fewer_needs_decides() {
    let lab = rivals();
    object(&lab, "base.o", "int base(void) { return 4; }");
    object(&lab, "uses.o", "int base(void); int readline_(void) { return base(); }");
    library(&lab, "p/lib/libbase.so.1", "base.o", "");
    library(&lab, "p/lib/libaedit.so.2", "uses.o", "p/lib/libbase.so.1 -Wl,-rpath,$PWD/p/lib");
    library(&lab, "p/lib/libline.so.8", "line.o", "");
    assert_eq!(fixes(&lab, &ARGS), (set(&["libline.so.8"]), true));
    link_again(&lab, "user.o", &ARGS);
}

/// Tcl's stub library is also in the archive of Tcl.
#[test]
fn the_smallest_archive_decides() {
    let lab = rivals();
    archive(&lab, OsStr::new("p/lib/libtcl.a"), &["edit.o", "user.o"]);
    archive(&lab, OsStr::new("p/lib/libtclstub.a"), &["edit.o"]);
    assert_eq!(fixes(&lab, &ARGS), (set(&["libtclstub.a"]), true));
    link_again(&lab, "user.o", &ARGS);
}

/// The file of today's release is not the name that builds use.
#[test]
fn emitters_name_the_development_link() {
    let lab = rivals();
    tool(&lab, "cc -shared -Wl,-soname,libline.so.8 -o p/lib/libline.so.8.2 line.o");
    tool(&lab, "cd p/lib; ln -s libline.so.8.2 libline.so.8");
    let emit = |format: &str| {
        text(&lab.linkaudit(&[&["fix"], &ARGS[..], &["--emit", format]].concat()).stdout)
    };
    let dir = lab.root().join("p/lib").display().to_string();
    assert_eq!(emit("pkg-config"), format!("Libs.private: -L{dir} -l:libline.so.8.2\n"));
    tool(&lab, "cd p/lib; ln -s libline.so.8 libline.so");
    assert_eq!(emit("pkg-config"), format!("Libs.private: -L{dir} -lline\n"));
    assert_eq!(emit("link-line"), format!("{dir}/libline.so\n"));
    let line = emit("pkg-config").replace("Libs.private:", "");
    tool(&lab, &format!("cc -shared -Wl,-z,defs -Wl,-rpath,p/lib -o new.so user.o {line}"));
    assert!(lab.undefined("new.so").is_empty(), "{line}");
}

/// A library with the members of an archive of another project.
#[test]
fn an_archive_comes_before_a_library_that_has_its_members() {
    let lab = rivals();
    tool(&lab, "mv edit.o iberty.o");
    object(&lab, "bfd.o", "int readline_(void); int bfd(void) { return readline_(); }");
    library(&lab, "p/lib/libbfd.so", "bfd.o iberty.o", "");
    archive(&lab, OsStr::new("p/lib/libbfd.a"), &["bfd.o"]);
    archive(&lab, OsStr::new("p/lib/libiberty.a"), &["iberty.o"]);
    assert_eq!(fixes(&lab, &ARGS), (set(&["libiberty.a"]), true));
    link_again(&lab, "user.o", &ARGS);
    // The symbol of the library's own archive.
    object(&lab, "user.o", "int bfd(void); int user(void) { return bfd(); }");
    tool(&lab, "cc -shared -o libuser.so user.o");
    assert_eq!(fixes(&lab, &ARGS), (set(&["libbfd.so"]), true));
}

/// A module of Python has no soname, and refers to symbols of the interpreter.
#[test]
fn modules_and_plugins_are_left_out() {
    let lab = rivals();
    archive(&lab, OsStr::new("p/lib/libnpymath.a"), &["edit.o"]);
    tool(&lab, "cc -shared -o p/lib/own/_tests.cpython-311-x86_64-linux-gnu.so edit.o");
    assert_eq!(fixes(&lab, &ARGS), (set(&["libnpymath.a"]), true));
    link_again(&lab, "user.o", &ARGS);
    tool(&lab, "rm p/lib/own/*.so p/lib/*.a; mkdir -p p/lib/python3/dist-packages");
    object(
        &lab,
        "py.o",
        "int PyFloat_AsDouble(void); int readline_(void) { return PyFloat_AsDouble(); }",
    );
    library(&lab, "p/lib/python3/dist-packages/libpy.so", "py.o", "");
    assert_eq!(fixes(&lab, &ARGS), (set(&["libpy.so"]), false));
}

/// An archive needs a library, of which an archive lies beside it too.
#[test]
fn a_library_comes_before_the_archives_of_an_archive() {
    let lab = rivals();
    object(&lab, "user.o", "int myz(void); int user(void) { return myz(); }");
    object(
        &lab,
        "myz.o",
        "int deflate_(void), inner(void); int myz(void) { return deflate_() + inner(); }",
    );
    object(&lab, "inner.o", "int inner(void) { return 1; }");
    object(&lab, "z.o", "int deflate_(void) { return 2; } int inflate_(void) { return 3; }");
    tool(&lab, "cc -shared -o libuser.so user.o; mkdir l");
    archive(&lab, OsStr::new("p/lib/libmyz.a"), &["myz.o", "inner.o"]);
    archive(&lab, OsStr::new("p/lib/libz.a"), &["z.o"]);
    library(&lab, "p/lib/libz.so.1", "z.o", "");
    tool(&lab, "ln -s libz.so.1 p/lib/libz.so");
    assert_eq!(fixes(&lab, &ARGS), (set(&["libmyz.a", "libz.so.1"]), true));
    link_again(&lab, "user.o", &ARGS);
    // patchelf cannot add the archive.
    let said = text(&lab.linkaudit(&[&["fix"], &ARGS[..]].concat()).stdout);
    assert!(
        said.contains("verified: audited again with 1 archive (2 members) and 1 library"),
        "{said}"
    );
    assert!(!said.contains("patchelf"), "{said}");
    tool(&lab, "rm p/lib/libz.a");
    assert_eq!(fixes(&lab, &ARGS), (set(&["libmyz.a", "libz.so.1"]), true));
    // A library with the code of the archive itself.
    library(&lab, "p/lib/libz.so.1", "z.o inner.o", "");
    archive(&lab, OsStr::new("p/lib/libz.a"), &["z.o"]);
    assert_eq!(fixes(&lab, &ARGS), (set(&["libmyz.a", "libz.a"]), true));
    link_again(&lab, "user.o", &ARGS);
}

/// Parts of the C and C++ libraries lie in a default directory, which is given.
#[test]
fn an_archive_gets_the_libraries_of_the_compiler() {
    let lab = rivals();
    object(&lab, "user.o", "double geo(double); double user(double x) { return geo(x); }");
    object(&lab, "geo.o", "double cbrt(double); double geo(double x) { return cbrt(x); }");
    tool(&lab, "cc -shared -o libuser.so user.o -lc; cp $(cc -print-file-name=libm.so.6) p/lib");
    archive(&lab, OsStr::new("p/lib/libgeo.a"), &["geo.o"]);
    assert_eq!(fixes(&lab, &ARGS), (set(&["libgeo.a", "libm.so.6"]), true));
    link_again(&lab, "user.o", &ARGS);
}

/// No shared library defines a reference with hidden visibility.
#[test]
fn a_hidden_reference_of_an_archive_stays_undefined() {
    let lab = Lab::new();
    object(&lab, "user.o", "int helper(void); int user(void) { return helper(); }");
    object(&lab, "shared.o", "int shared(void) { return 1; }");
    let helper = "__attribute__((visibility(\"hidden\"))) int shared(void);\n\
                  int helper(void) { return shared(); }";
    object(&lab, "helper.o", helper);
    tool(&lab, "mkdir -p p/lib; cc -shared -o libuser.so user.o");
    library(&lab, "p/lib/libshared.so", "shared.o", "");
    tool(&lab, "ar rc p/lib/libhelper.a helper.o");
    let said = text(&lab.linkaudit(&["fix", "libuser.so", "--lib-path", "p/lib"]).stdout);
    assert!(said.contains("0 of 1 finding has a verified fix"), "{said}");
}
