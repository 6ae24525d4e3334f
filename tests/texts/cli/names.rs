//! Names from audited files in text: characters that could act on a terminal or a log are escaped
//! in every output for people.

use super::kit::{BROKEN, CALLS_FOO, FOO, Run, fifo, replace};
use crate::support::{Lab, linkaudit};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// Characters of each dangerous kind: a control sequence, a line end, C1, a change of direction, an
/// invisible character, bytes that are not text.
const EVIL: &[u8] = b"e\x1b[31m\x07\r\nx\x7f\xc2\x9b2J\xe2\x80\xaey\xe2\x80\x8b\xef\xbb\xbf\xff";

fn evil(before: &str, after: &str) -> Vec<u8> {
    [before.as_bytes(), EVIL, after.as_bytes()].concat()
}

/// Characters of text that is safe to show.
fn harmless(c: char) -> bool {
    let deceptive = matches!(c,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{61c}' | '\u{feff}');
    matches!(c, '\n' | '\t') || !(c.is_control() || deceptive)
}

#[track_caller]
fn check(lab: &Lab, path: &OsStr) {
    let formats: [&[&str]; 6] = [
        &[],
        &["-v"],
        &["-q"],
        &["--as-ldd", "--format", "ldd"],
        &["-W", "symbol"],
        &["-A", "input"],
    ];
    for options in formats {
        let output = linkaudit()
            .current_dir(lab.root())
            .args(options)
            .args([path, OsStr::new("--lib-path"), OsStr::new(".")])
            .output()
            .expect("linkaudit runs");
        let run = Run::new(&output);
        let bad: Vec<char> =
            run.out.chars().chain(run.err.chars()).filter(|c| !harmless(*c)).collect();
        assert!(bad.is_empty(), "{options:?}: {bad:?} in {}{}", run.out, run.err);
        assert!(matches!(run.status, 0..=3), "{options:?}: {}", run.status);
    }
}

fn rename(lab: &Lab, from: &str, to: &[u8]) {
    let to = lab.root().join(OsStr::from_bytes(to));
    std::fs::create_dir_all(to.parent().expect("a directory")).expect("a directory");
    std::fs::rename(lab.path(from), to).expect("a new name");
}

#[test]
fn names_of_files_and_directories() {
    let lab = Lab::new();
    lab.so("broken.so", BROKEN, &[]);
    rename(&lab, "broken.so", &[&evil("p/d", "/")[..], &evil("lib", ".so")].concat());
    fifo(&lab, "pipe");
    rename(&lab, "pipe", &evil("p/", ".pipe"));
    lab.write("damaged", b"\x7fELF");
    rename(&lab, "damaged", &evil("p/", ".damaged"));
    check(&lab, OsStr::new("p"));
    let typed = [&evil("p/d", "/")[..], &evil("lib", ".so")].concat();
    check(&lab, OsStr::from_bytes(&typed));
}

#[test]
fn symbols_versions_and_libraries() {
    let lab = Lab::new();
    // A stand-in of the same length takes the place of the name until the file is linked.
    let stand_in = "N".repeat(EVIL.len());
    lab.write("versions", format!("V_{stand_in} {{ global: foo; sym_{stand_in}; }};\n"));
    let defines = format!("{FOO} int sym_{stand_in}(void) {{ return 2; }}");
    let soname = format!("-Wl,-soname,lib{stand_in}.so");
    lab.so("p/libfoo.so", &defines, &["-Wl,--version-script=$PWD/versions", &soname]);
    let rpath = format!("-Wl,-rpath,/rpath/{stand_in}:$ORIGIN");
    let source = format!(
        "int foo(void); int sym_{stand_in}(void); int lost_{stand_in}(void); \
         int main(void) {{ return foo() + sym_{stand_in}() + lost_{stand_in}(); }}"
    );
    let flags = ["-Wl,--no-as-needed", "-Lp", "-lfoo", &rpath];
    lab.exe("p/app", &source, &flags);
    for name in ["p/app", "p/libfoo.so"] {
        replace(&lab, name, stand_in.as_bytes(), EVIL);
    }
    // No file has the soname of the library. Then a file has it, but lacks the version.
    check(&lab, OsStr::new("p"));
    let link = [&b"p/"[..], &evil("lib", ".so")].concat();
    std::fs::copy(lab.path("p/libfoo.so"), lab.root().join(OsStr::from_bytes(&link)))
        .expect("a copy");
    check(&lab, OsStr::new("p"));
    replace(&lab, "p/app", b"V_e", b"W_e");
    check(&lab, OsStr::new("p"));
    std::fs::write(lab.root().join(OsStr::from_bytes(&link)), "INPUT(x)").expect("a linker script");
    check(&lab, OsStr::new("p"));
}

#[test]
fn interpreters_and_members() {
    let lab = Lab::new();
    let stand_in = "N".repeat(EVIL.len());
    lab.exe(
        "p/app",
        "int main(void) { return 0; }",
        &[&format!("-Wl,--dynamic-linker=/{stand_in}")],
    );
    replace(&lab, "p/app", stand_in.as_bytes(), EVIL);
    lab.so("p/libbroken.so", BROKEN, &[]);
    let member = format!("{stand_in}.o");
    super::kit::object(&lab, &member, "void gone(void) {}");
    super::kit::run_ar(&lab, &["rc", "p/liba.a", &member]);
    // A line end would end the member's name.
    let no_line_end: Vec<u8> = EVIL.iter().map(|b| if *b == b'\n' { 8 } else { *b }).collect();
    replace(&lab, "p/liba.a", stand_in.as_bytes(), &no_line_end);
    check(&lab, OsStr::new("p"));
}

#[test]
fn demangled_names() {
    let lab = Lab::new();
    // An identifier of nine bytes with an escape sequence in it.
    let source = "void _Z9aaaaaaaaav(void); void f(void) { _Z9aaaaaaaaav(); }";
    lab.so("p/liba.so", source, &[]);
    replace(&lab, "p/liba.so", b"_Z9aaaaaaaaav", b"_Z9a\x1b[31maa\nv");
    check(&lab, OsStr::new("p"));
    lab.so("p/libb.so", &format!("{CALLS_FOO} {source}"), &[]);
    replace(&lab, "p/libb.so", b"_Z9aaaaaaaaav", b"_Z9aa\xe2\x80\xaeaaa\xc2v");
    check(&lab, OsStr::new("p"));
}
