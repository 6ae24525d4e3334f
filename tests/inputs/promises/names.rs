//! Names of files and names inside them that would act on a terminal, a log or a shell.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::tiny::Tiny;
use crate::support::Lab;

/// Forty kinds of such names.
const NAMES: [&[u8]; 40] = [
    b"a b",
    b" ",
    b"a'b",
    b"a\"b",
    b"a`id`b",
    b"$(touch MARK)",
    b"${HOME}",
    b"$HOME",
    b"a;b",
    b"a|b",
    b"a&b",
    b"a>b",
    b"a<b",
    b"a*b",
    b"a?b",
    b"[ab]",
    b"{a,b}",
    b"~",
    b"#a",
    b"!a",
    b"-rf",
    b"--help",
    b"a\\b",
    b"a\\",
    b"a\nb",
    b"\n",
    b"a\rb",
    b"a\tb",
    b"\x1b[31mred",
    b"\x1b]0;title\x07",
    b"\x7f",
    b"\x01",
    b"\xc2\x85",
    b"\xc2\x9b31m",
    b"\xe2\x80\xae",
    b"\xe2\x81\xa6",
    b"\xe2\x80\x8b",
    b"\xe9",
    b"\x9b31m",
    b"\xe2\x82",
];

fn acts(c: char) -> bool {
    let bidi = matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && c != '\n') || bidi || c == '\u{feff}'
}

#[test]
fn hostile_names() {
    let lab = Lab::new();
    for name in NAMES {
        let dir = lab.mkdir("grove").join(OsStr::from_bytes(name));
        std::fs::create_dir(&dir).expect("a directory of that name");
        let plain = Tiny::library("lib.so", Vec::<String>::new());
        let library = match std::str::from_utf8(name) {
            Ok(text) => Tiny { needs: vec![format!("lib{text}.so")], ..plain }.refers(text),
            Err(_) => Tiny { needs: vec!["libabsent.so".to_owned()], ..plain },
        };
        std::fs::write(dir.join("lib.so"), library.bytes()).expect("a library");
    }
    for format in ["human", "ldd"] {
        let output = lab.linkaudit(&["--format", format, "-v", "--color", "never", "grove"]);
        let text = String::from_utf8(output.stdout).expect("every output is UTF-8");
        let bad: Vec<char> =
            text.chars().filter(|c| acts(*c) && !(format == "ldd" && *c == '\t')).collect();
        assert!(bad.is_empty(), "{format}: {bad:?}");
        assert!(text.lines().count() > 0);
    }
    let output = lab.linkaudit(&["--format", "json", "grove"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("findings");
    let missing = findings.iter().filter(|finding| finding["rule"] == "missing-library").count();
    println!("hostile names: {} names, {missing} findings", NAMES.len());
    assert_eq!(missing, NAMES.len());
    assert!(!lab.path("MARK").exists());
}
