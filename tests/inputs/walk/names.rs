//! Names that are not plain text, of files and inside of files: no output acts on a terminal or
//! breaks a line, and the JSON report keeps every byte.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::report::{Report, bytes, evidence, whole_path};
use super::{ABSENT, audit, broken, found_broken};
use crate::support::{self, Lab};

const NAMES: [&[u8]; 18] = [
    b"plain.so",
    b"new\nline.so",
    b"\n",
    b"carriage\rreturn.so",
    b"tab\t.so",
    b"esc\x1b[31mred\x1b[0m.so",
    b"title\x1b]0;pwned\x07.so",
    b"del\x7f.so",
    b"nel\xc2\x85c1\xc2\x9b31m.so",
    b"raw c1 \x9b31m.so",
    b"latin1-\xe9.so",
    b"cut short \xe2\x82",
    b"bidi\xe2\x80\xae.os.txt",
    b"isolate\xe2\x81\xa6x\xe2\x81\xa9.so",
    b"zero\xe2\x80\x8bwidth\xef\xbb\xbf.so",
    b"$(touch MARK).so",
    b"-rf",
    b"quote'\"`\\.so",
];

fn hostile(lab: &Lab) -> Vec<PathBuf> {
    let elf = std::fs::read(broken(lab, "libbroken.so")).expect("it was built");
    let mut paths = Vec::new();
    for name in NAMES {
        let dir = lab.mkdir("tree").join(OsStr::from_bytes(name));
        std::fs::create_dir(&dir).expect("a directory of that name");
        // Different bytes, so that every file is a root of its own.
        let path = dir.join(OsStr::from_bytes(name));
        std::fs::write(&path, &elf).expect("a file of that name");
        paths.push(path);
    }
    paths.sort_unstable();
    paths
}

#[test]
fn json_gives_every_byte_back() {
    let lab = Lab::new();
    let paths = hostile(&lab);
    let report = audit(&lab, "tree");
    let mut found = found_broken(&report);
    found.sort_unstable();
    assert_eq!(found, paths);
    let odd = report.findings().filter(|finding| finding["path"].is_object()).count();
    let invalid = NAMES.iter().filter(|name| std::str::from_utf8(name).is_err()).count();
    assert_eq!(odd, invalid, "a name that is text is written as text");
    let text = std::str::from_utf8(&report.bytes).expect("the report is UTF-8");
    assert_eq!(text.lines().count(), 1);
    assert!(!text.trim_end().bytes().any(|byte| byte < b' '));
    let files: BTreeSet<Vec<u8>> =
        super::report::list(&report.value["files"]).map(|file| bytes(&file["path"])).collect();
    for path in &paths {
        assert!(files.contains(path.as_os_str().as_bytes()), "{}", path.display());
    }
}

#[test]
fn text_has_no_control_characters() {
    let lab = Lab::new();
    hostile(&lab);
    lab.link("nowhere\u{1b}[2J", "tree/dangling\u{1b}[2J");
    let fifo = lab.path("tree/fifo\n\u{202e}");
    rustix::fs::mkfifoat(rustix::fs::CWD, fifo, 0o644.into()).expect("a FIFO");
    let runs: [&[&str]; 6] = [
        &["tree"],
        &["-v", "tree"],
        &["-q", "tree"],
        &["--color", "never", "--timings", "tree"],
        &["--format", "ldd", "tree"],
        &["--as-ldd", "--format", "ldd", "tree"],
    ];
    for args in runs {
        let output = lab.linkaudit(&[&["check"], args].concat());
        plain(&format!("{args:?}"), &output.stdout);
        plain(&format!("{args:?}: stderr"), &output.stderr);
    }
}

/// Messages about arguments: these come from outside, too.
#[test]
fn messages_have_no_control_characters() {
    let lab = Lab::new();
    for name in NAMES {
        let missing = lab.path("nowhere").join(OsStr::from_bytes(name));
        for option in [&[][..], &["--lib-path"], &["--files-from"], &["--format"], &["--allow"]] {
            let output =
                support::linkaudit().args(option).arg(&missing).output().expect("linkaudit runs");
            assert_eq!(output.status.code(), Some(2), "{option:?} {}", missing.display());
            assert!(output.stdout.is_empty());
            plain(&format!("{option:?}"), &output.stderr);
        }
    }
}

/// Names inside a file: its soname, needed names, search paths and symbols.
#[test]
fn names_inside_of_files() {
    const EVIL: &str = "e\u{1b}[31m\u{202e}\u{7f}\n\u{9b}v";
    let lab = Lab::new();
    // The compiler's tools take only tame names, so these are written over in the finished files.
    let tame = "_".repeat(EVIL.len());
    let needed = format!("libneeded{tame}.so");
    let soname = |name: &str| format!("-Wl,-soname,{name}");
    lab.so(&needed, "int absent(void){return 0;}", &[&soname(&needed)]);
    let own = soname(&format!("libown{tame}.so"));
    let search = format!("-Wl,-rpath,/no/{tame}:$ORIGIN/{tame}");
    let user =
        format!("int absent(void), sym{tame}(void); int f(void){{return absent()+sym{tame}();}}");
    let alone = user.replace("absent()+", "");
    let files = [
        lab.so("tree/libuser.so", &user, &[&format!("$PWD/{needed}"), &own, &search]),
        lab.so("alone/libalone.so", &alone, &[&own, &search]),
    ];
    for file in files {
        let bytes = std::fs::read(&file).expect("it was built");
        std::fs::write(&file, replaced(&bytes, tame.as_bytes(), EVIL.as_bytes())).expect("a file");
    }
    let symbol = format!("sym{EVIL}").into_bytes();

    let report = audit(&lab, "tree");
    let missing = report.of_rule("missing-library").next().expect("it is missing");
    assert_eq!(bytes(&missing["library"]), needed.replace(&tame, EVIL).as_bytes());
    let mut explained = evidence(missing, "explained").map(|entry| bytes(&entry["symbol"]));
    assert!(explained.any(|name| name == symbol), "{missing}");
    let report = audit(&lab, "alone");
    let undefined = report.of_rule("undefined-symbol").next().expect("it is undefined");
    assert_eq!(bytes(&undefined["symbol"]), symbol);
    for tree in ["tree", "alone"] {
        for args in [&["-v", tree][..], &["-q", tree], &["--as-ldd", "--format", "ldd", tree]] {
            plain(&format!("{args:?}"), &lab.linkaudit(&[&["check"], args].concat()).stdout);
        }
    }
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at + from.len() <= out.len() {
        if out[at..].starts_with(from) {
            out[at..at + from.len()].copy_from_slice(to);
            at += from.len();
        } else {
            at += 1;
        }
    }
    assert_ne!(out, bytes, "there is something to replace");
    out
}

/// A directory whose name is not text can be a prefix.
#[test]
fn a_prefix_that_is_no_text() {
    let lab = Lab::new();
    let elf = broken(&lab, "libbroken.so");
    let top = lab.root().join(OsStr::from_bytes(b"pre\xff\nfix"));
    std::fs::create_dir(&top).expect("a directory");
    let file = top.join("libbroken.so");
    std::fs::copy(elf, &file).expect("a copy");
    for given in [&top, &file] {
        let report = Report::of(support::linkaudit().arg(given));
        assert_eq!(report.findings().map(whole_path).collect::<Vec<_>>(), [&*file]);
        assert_eq!(
            bytes(&report.findings().next().expect("one")["prefix"]),
            top.as_os_str().as_bytes()
        );
        assert_eq!(report.findings().next().expect("one")["library"], ABSENT);
    }
}

/// Fails on anything in a text that could act on a terminal, reorder it or break its lines.
fn plain(what: &str, output: &[u8]) {
    let text = std::str::from_utf8(output).unwrap_or_else(|error| panic!("{what}: {error}"));
    let acts = |c: &char| {
        let layout = matches!(c, '\n' | '\t');
        let hidden = matches!(*c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{61c}');
        (c.is_control() && !layout) || hidden
    };
    let bad: Vec<&str> = text.lines().filter(|line| line.chars().any(|c| acts(&c))).collect();
    assert!(bad.is_empty(), "{what}: {bad:?}");
    // A tab or a line end of a name would pass above: what follows one of these is never free.
    for rest in ["line.so", "\treturn.so"] {
        assert!(!text.lines().any(|line| line.starts_with(rest)), "{what}: a name broke a line");
    }
}
