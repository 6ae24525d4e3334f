//! Compares `missing-dlopen` with the loader: an object names a library in a note and opens it, and
//! the library is in one of many directories.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::report::Report;
use crate::support::{Lab, clean, musl};

/// A note that requires `libbar.so.1`, and a function that opens it.
const OPENS: &str = r#"
#include <dlfcn.h>
__asm__(".pushsection .note.dlopen,\"a\",%note\n.balign 4\n.long 4, 2f - 1f, 0x407c0c0a\n"
        ".asciz \"FDO\"\n1: .asciz \"[{\\\"soname\\\":[\\\"libbar.so.1\\\"],"
        "\\\"priority\\\":\\\"required\\\"}]\"\n2: .balign 4\n.popsection");
int opens(void) { return dlopen("libbar.so.1", RTLD_NOW) ? 0 : 1; }
"#;

const BAR: &str = "int bar(void) { return 1; }";

/// The place of the library, and its content.
const PLACES: [(&str, &str); 6] = [
    ("", ""),
    ("lib/libbar.so.1", "elf"),
    ("other/libbar.so.1", "elf"),
    ("lib/libbar.so.1", "text"),
    ("lib/libbar.so.1", "class32"),
    ("lib/libbar.so.1", "directory"),
];

/// Link flags of the library that calls dlopen, and of the program.
const FLAGS: [(&[&str], &[&str]); 7] = [
    (&[], &["-Wl,-rpath,$ORIGIN/../lib"]),
    (&[], &["-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib"]),
    (&[], &["-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib:$ORIGIN/../other"]),
    (&["-Wl,-rpath,$ORIGIN"], &["-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib:$ORIGIN/../other"]),
    (&["-Wl,-rpath,$ORIGIN/../other"], &["-Wl,-rpath,$ORIGIN/../lib"]),
    (
        &["-Wl,--disable-new-dtags,-rpath,$ORIGIN/../other"],
        &["-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib"],
    ),
    // The program has loaded it before.
    (&[], &["-Wl,-rpath,$ORIGIN/../lib:$ORIGIN/../other", "-Wl,--no-as-needed", "BAR"]),
];

#[test]
fn the_loader_opens_what_notes_require() {
    let (mut cases, mut missing, mut differences) = (0, 0, Vec::new());
    for (place, content) in PLACES {
        for (library, program) in FLAGS {
            let needs_bar = program.contains(&"BAR");
            if needs_bar && content != "elf" {
                continue;
            }
            let lab = Lab::new();
            let mut flags = vec!["-Wl,-soname,libopens.so"];
            flags.extend(library);
            lab.so("lib/libopens.so", OPENS, &flags);
            put(&lab, place, content);
            let bar = lab.path(place).display().to_string();
            let mut flags: Vec<&str> =
                program.iter().map(|flag| if *flag == "BAR" { &*bar } else { flag }).collect();
            flags.push("lib/libopens.so");
            lab.exe("bin/app", "int opens(void);\nint main(void) { return opens(); }", &flags);
            let ran = clean(lab.path("bin/app")).status().expect("the program runs");
            let theirs = ran.code() == Some(1);
            let report =
                Report::from(lab.linkaudit(&["--isolated", "--format", "json", "bin/app", "lib"]));
            let ours = report.findings().any(|finding| finding["rule"] == "missing-dlopen");
            cases += 1;
            missing += usize::from(theirs);
            if ours != theirs {
                differences.push(format!("{place} {content} {library:?} {program:?}: {ours}"));
            }
        }
    }
    println!("{cases} programs, {missing} cannot open, {} differences", differences.len());
    assert!(differences.is_empty(), "{differences:#?}");
    assert!(cases > 35 && missing > 15 && missing < cases - 8, "{cases} {missing}");
}

/// musl's dlopen searches the paths of the program, not those of the library that calls it.
#[test]
fn musl_searches_the_paths_of_the_program() {
    if !musl::is_there("musl_searches_the_paths_of_the_program") {
        return;
    }
    let main = "int opens(void);\nint main(void) { return opens(); }";
    let cases =
        [("$ORIGIN/../other", "$ORIGIN/../lib"), ("$ORIGIN", "$ORIGIN/../lib:$ORIGIN/../other")];
    for (library, program) in cases {
        let lab = Lab::new();
        musl::so(&lab, "other/libbar.so.1", BAR, &[]);
        let path = format!("-Wl,-rpath,{library}");
        musl::so(&lab, "lib/libopens.so", OPENS, &["-Wl,-soname,libopens.so", &path]);
        let path = format!("-Wl,-rpath,{program}");
        musl::exe(&lab, "bin/app", main, &["lib/libopens.so", &path]);
        let ran = clean(lab.path("bin/app")).status().expect("the program runs");
        let report =
            Report::from(lab.linkaudit(&["--isolated", "--format", "json", "bin/app", "lib"]));
        let ours = report.of_rule("missing-dlopen").next().is_some();
        assert_eq!(ran.code(), Some(i32::from(ours)), "{library} {program}");
        assert_eq!(ours, library != "$ORIGIN", "{library} {program}");
    }
}

/// dlopen expands tokens in paths, with the values of the object that calls it.
#[test]
fn tokens_in_the_paths_of_notes() {
    let names = [
        "$ORIGIN/../other/libbar.so.1",
        "${ORIGIN}/libbar.so.1",
        "$ORIGIN/libbar.so.1/",
        "$ORIGIN/absent/libbar.so.1",
        "$ORIGINAL/libbar.so.1",
        "$ORIGIN",
        "libbar$ORIGIN.so.1",
    ];
    for name in names {
        let lab = Lab::new();
        let source = OPENS.replace("libbar.so.1", name);
        lab.so("lib/libopens.so", &source, &["-Wl,-soname,libopens.so"]);
        lab.so("lib/libbar.so.1", BAR, &[]);
        lab.so("other/libbar.so.1", BAR, &[]);
        let main = "int opens(void);\nint main(void) { return opens(); }";
        lab.exe("bin/app", main, &["lib/libopens.so", "-Wl,-rpath,$ORIGIN/../lib"]);
        let ran = clean(lab.path("bin/app")).status().expect("the program runs");
        let report =
            Report::from(lab.linkaudit(&["--isolated", "--format", "json", "bin/app", "lib"]));
        let ours = report.of_rule("missing-dlopen").next().is_some();
        assert_eq!(ran.code(), Some(i32::from(ours)), "{name}");
    }
}

/// Writes a library, or another file of its name.
fn put(lab: &Lab, place: &str, content: &str) {
    match content {
        "" => {}
        "text" => {
            lab.write(place, "INPUT(libbar.so)\n");
        }
        "directory" => {
            lab.mkdir(place);
        }
        "class32" => {
            lab.so(place, BAR, &["-m32", "-nostdlib", "-Wl,-soname,libbar.so.1"]);
        }
        _ => {
            lab.so(place, BAR, &["-Wl,-soname,libbar.so.1"]);
        }
    }
}

/// Notes whose text is not a list, and notes in a segment that is too large to be read.
#[test]
fn notes_that_cannot_be_read_are_named() {
    let lab = Lab::new();
    let text = OPENS.replace("[{", "{");
    let large = format!(
        "{OPENS}__asm__(\".pushsection .note.other,\\\"a\\\",%note\\n.balign 4\\n.long 4, 0x200000, 1\\n\
         .asciz \\\"ABC\\\"\\n.zero 0x200000\\n.popsection\");\n"
    );
    for (name, source) in [("text", &*text), ("large", &large)] {
        lab.so(&format!("lib/lib{name}.so"), source, &["-Wl,-soname,libopens.so"]);
    }
    let report = Report::from(lab.linkaudit(&["--isolated", "--format", "json", "lib"]));
    let mut said: Vec<_> = report
        .findings()
        .filter(|finding| finding["rule"] == "missing-dlopen" && finding["detail"] == "note")
        .map(|finding| finding["message"].as_str().expect("a message").to_owned())
        .collect();
    said.sort();
    assert_eq!(
        said,
        [
            "its note about dlopen is not read: its text is not a list of libraries in JSON",
            "its note about dlopen is not read: the segment with it is larger than 1 MiB",
        ]
    );
}
