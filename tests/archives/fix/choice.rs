//! The library or archive that a fix chooses if several define a symbol. Each chosen file is linked,
//! and `ldd -r` reads the result.

use super::kit::{object, text, tool};
use super::libraries::{fixes, set};
use crate::support::Lab;

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
