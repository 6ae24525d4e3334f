//! Files on which patchelf fails or that it would damage: their fixes are suggestions. The patched
//! files run if the fix is verified.

use super::kit::{text, tool};
use crate::support::{Lab, has, skip};
use serde_json::Value;

/// The program of `tree` calls `libf.so.1`, which it does not find.
const CALLS: &str = "void f(void); int main(void) { f(); return 0; }";

/// A tree with `bin/prog`, linked with these flags, and the library that it needs.
fn lab(source: &str, flags: &[&str]) -> Lab {
    let lab = Lab::new();
    lab.so("tree/lib/libf.so.1", "void f(void) {}", &["-Wl,-soname,libf.so.1"]);
    let library = lab.path("tree/lib/libf.so.1").display().to_string();
    lab.exe("tree/bin/prog", source, &[&[&*library], flags].concat());
    lab
}

/// Runs `fix`. Returns the first fix of the finding of `rule`, and writes `fix.sh`.
fn fix(lab: &Lab, rule: &str) -> Value {
    let args = ["fix", "tree", "--isolated", "--warn", rule, "-o", "patchelf=fix.sh"];
    let run = lab.linkaudit(&[&args[..], &["-o", "json=fix.json"]].concat());
    let report = std::fs::read(lab.path("fix.json"));
    let report = report.unwrap_or_else(|error| panic!("{error}: {}", text(&run.stderr)));
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    let findings = report["findings"].as_array().expect("findings").iter();
    let mut of_rule = findings.filter(|finding| finding["rule"] == rule);
    of_rule.next().unwrap_or_else(|| panic!("{report:#}"))["fix"][0].clone()
}

/// True if the fix is not verified and its reason has these words.
fn is_refused(fix: &Value, words: &str) -> bool {
    fix["proven"] == false && fix["unknown"].as_str().is_some_and(|why| why.contains(words))
}

#[test]
fn a_file_without_section_headers() {
    let lab = lab(CALLS, &[]);
    assert_eq!(fix(&lab, "missing-library")["proven"], true);
    let path = lab.path("tree/bin/prog");
    let mut bytes = std::fs::read(&path).expect("a program");
    bytes[40..48].fill(0);
    bytes[60..64].fill(0);
    std::fs::write(&path, bytes).expect("it is written");
    tool(&lab, "LD_LIBRARY_PATH=tree/lib tree/bin/prog");
    let fix = fix(&lab, "missing-library");
    assert!(is_refused(&fix, "no section headers"), "{fix}");
    if !has("patchelf") {
        return skip("a_file_without_section_headers", "patchelf is not installed");
    }
    assert!(!lab.sh("patchelf --set-rpath '$ORIGIN/../lib' tree/bin/prog").status.success());
}

/// The loader stops at the zeros behind the dynamic section. patchelf 0.14 aborts.
#[test]
fn a_dynamic_section_without_an_end() {
    let lab = lab(CALLS, &[]);
    let path = lab.path("tree/bin/prog");
    let mut bytes = std::fs::read(&path).expect("a program");
    let word = |bytes: &[u8], at: usize| {
        usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes")))
            .expect("an offset")
    };
    let headers = bytes[word(&bytes, 32)..].chunks(56).position(|one| one[..4] == [2, 0, 0, 0]);
    let header = word(&bytes, 32) + 56 * headers.expect("PT_DYNAMIC");
    let (start, size) = (word(&bytes, header + 8), word(&bytes, header + 32));
    for entry in bytes[start..start + size].chunks_mut(16).filter(|entry| entry[..8] == [0; 8]) {
        entry[0] = 21; // DT_DEBUG
    }
    std::fs::write(&path, bytes).expect("it is written");
    tool(&lab, "LD_LIBRARY_PATH=tree/lib tree/bin/prog");
    let fix = fix(&lab, "missing-library");
    assert!(is_refused(&fix, "no DT_NULL"), "{fix}");
    if !has("patchelf") {
        return skip("a_dynamic_section_without_an_end", "patchelf is not installed");
    }
    let patched = lab.sh("patchelf --set-rpath '$ORIGIN/../lib' tree/bin/prog && tree/bin/prog");
    assert!(!patched.status.success());
}

/// GNU ld stores the name of a symbol in the end of the search path, and patchelf 0.14 overwrites
/// it with the old path.
#[test]
fn a_search_path_that_shares_its_text() {
    if !has("patchelf") {
        return skip("a_search_path_that_shares_its_text", "patchelf is not installed");
    }
    for (path, shares) in [("/build/f", true), ("/build/libf.so.1", true), ("/build/g", false)] {
        let lab = lab(CALLS, &["-fuse-ld=bfd", &format!("-Wl,-rpath,{path}")]);
        let fix = fix(&lab, "missing-library");
        assert_eq!(fix["proven"], true, "{fix}");
        let script = std::fs::read_to_string(lab.path("fix.sh")).expect("a script");
        assert_eq!(script.contains("patchelf --remove-rpath"), shares, "{path}");
        tool(&lab, "cp -a tree copy; sh fix.sh copy; copy/bin/prog");
        assert!(tool(&lab, "sh fix.sh copy").contains("unchanged"));
    }
    // The name of a version, and a path that is itself the end of a name.
    for (symbol, version, path) in [("v", "V_1 { *; };", "/v/V_1"), ("my_v", "{ *; };", "_v")] {
        let lab = Lab::new();
        lab.write("v.map", version);
        let source = format!("void {symbol}(void) {{}}");
        let flags = ["-Wl,-soname,libv.so", "-Wl,--version-script=v.map"];
        lab.so("tree/lib/libv.so", &source, &flags);
        let library = lab.path("tree/lib/libv.so").display().to_string();
        let source = format!("void {symbol}(void); int main(void) {{ {symbol}(); return 0; }}");
        let flags = [&*library, "-fuse-ld=bfd", &format!("-Wl,-rpath,{path}")];
        lab.exe("tree/bin/prog", &source, &flags);
        assert_eq!(fix(&lab, "missing-library")["proven"], true);
        let script = std::fs::read_to_string(lab.path("fix.sh")).expect("a script");
        assert!(script.contains("patchelf --remove-rpath"), "{symbol}");
        tool(&lab, "sh fix.sh tree; tree/bin/prog");
    }
}

/// A program reads the end of its own file. patchelf appends tables there unless the new search
/// path fits in the place of the old one.
#[test]
fn a_file_with_data_behind_its_image() {
    let source = "#include <stdio.h>\n#include <string.h>\nvoid f(void); int main(void) { \
                  char end[8]; FILE *self = fopen(\"/proc/self/exe\", \"rb\"); f(); \
                  fseek(self, -8, SEEK_END); return fread(end, 1, 8, self) != 8 || \
                  memcmp(end, \"PAYLOAD!\", 8); }";
    for (old, rule, new) in [
        ("$ORIGIN", "missing-library", "$ORIGIN:$ORIGIN/../lib"),
        ("$ORIGIN/../lib:$ORIGIN/../gone", "dead-search-entry", "$ORIGIN/../lib"),
    ] {
        let lab = lab(source, &[&format!("-Wl,-rpath,{old}")]);
        tool(
            &lab,
            "printf 'data PAYLOAD!' >>tree/bin/prog; LD_LIBRARY_PATH=tree/lib tree/bin/prog",
        );
        let fix = fix(&lab, rule);
        let fits = new.len() < old.len();
        if fits {
            assert_eq!(fix["proven"], true, "{fix}");
        } else {
            assert!(is_refused(&fix, "the data at the end of the file"), "{fix}");
        }
        if !has("patchelf") {
            continue;
        }
        tool(&lab, &format!("patchelf --set-rpath '{new}' tree/bin/prog"));
        assert_eq!(lab.sh("tree/bin/prog").status.success(), fits, "{old}");
    }
    // strip leaves zeros at the end of some files.
    let lab = lab(CALLS, &[]);
    tool(&lab, "printf '\\0' >>tree/bin/prog");
    assert_eq!(fix(&lab, "missing-library")["proven"], true);
}

/// Code of DT_INIT, DT_FINI and in `.init` runs when the library is loaded or unloaded.
#[test]
fn an_unused_library_with_start_code() {
    let says = "#include <unistd.h>\nvoid say(void) { if (write(1, \"x\", 1) < 0) _exit(9); }";
    let inside = format!("{says}\n__asm__(\".section .init\\n call say\\n .text\");");
    let cases: [(&str, &[&str], bool); 4] = [
        ("int g(void) { return 0; }", &[], true),
        (says, &["-Wl,-init,say"], false),
        (says, &["-Wl,-fini,say"], false),
        (&inside, &["-Wl,-Bsymbolic"], false),
    ];
    for (source, flags, verified) in cases {
        if source == inside && !cfg!(target_arch = "x86_64") {
            continue;
        }
        let lab = Lab::new();
        lab.so("tree/lib/libu.so", source, &[flags, &["-Wl,-soname,libu.so"]].concat());
        let flags = ["-Wl,--no-as-needed", "-Ltree/lib", "-lu", "-Wl,-rpath,$ORIGIN/../lib"];
        lab.exe("tree/bin/prog", "int main(void) { return 0; }", &flags);
        assert_eq!(tool(&lab, "tree/bin/prog").is_empty(), verified, "{flags:?}");
        let fix = fix(&lab, "unused-library");
        if verified {
            assert_eq!(fix["proven"], true, "{fix}");
        } else {
            assert!(is_refused(&fix, "constructors of"), "{fix}");
        }
    }
}

/// For other users, the loader ignores `$ORIGIN` in the search path of a set-ID program.
#[test]
fn a_program_with_other_rights() {
    let expected = |lab: &Lab, entry: &str| {
        let fix = fix(lab, "missing-library");
        assert_eq!((&fix["proven"], fix["entry"].as_str()), (&true.into(), Some(entry)), "{fix}");
    };
    let lab = lab(CALLS, &[]);
    let absolute = lab.path("tree/lib").canonicalize().expect("a directory").display().to_string();
    for (mode, entry) in [
        ("u+s", &*absolute),
        ("u-s,g+s", &absolute),
        ("g-x", "$ORIGIN/../lib"),
        ("g+x,g-s", "$ORIGIN/../lib"),
    ] {
        tool(&lab, &format!("chmod {mode} tree/bin/prog"));
        expected(&lab, entry);
    }
    if !lab.sh("PATH=$PATH:/usr/sbin setcap cap_net_raw=ep tree/bin/prog").status.success() {
        return skip("a_program_with_other_rights", "file capabilities cannot be set here");
    }
    expected(&lab, &absolute);
}

/// Capabilities, set-ID bits and attributes survive the script. Without them it changes nothing.
#[test]
fn rights_and_attributes_stay() {
    if !has("patchelf") {
        return skip("rights_and_attributes_stay", "patchelf is not installed");
    }
    let lab = lab(CALLS, &[]);
    let set = "PATH=$PATH:/usr/sbin; chmod u+s tree/bin/prog; setcap cap_net_raw=ep tree/bin/prog";
    if !lab.sh(set).status.success() {
        return skip("rights_and_attributes_stay", "file capabilities cannot be set here");
    }
    assert_eq!(fix(&lab, "missing-library")["proven"], true);
    // Without setcap, the script refuses before it changes the file.
    tool(
        &lab,
        "mkdir bin; for t in sh sha256sum cut sort mktemp cp cat rm cmp getcap chmod; do \
                ln -s \"$(PATH=$PATH:/usr/sbin command -v $t)\" bin; done; ln -s \"$(command -v patchelf)\" bin",
    );
    let script = std::fs::read_to_string(lab.path("fix.sh")).expect("a script");
    lab.write("less.sh", script.replace(":/usr/sbin:/sbin", ""));
    let run = lab.sh("PATH=$PWD/bin sh less.sh tree");
    assert_eq!((run.status.code(), &*text(&run.stderr)), (Some(1), "not installed: setcap\n"));
    lab.write("less.sh", script.replace(":/usr/sbin:/sbin", "").replace(" getcap setcap'", "'"));
    let run = lab.sh("PATH=$PWD/bin sh less.sh tree");
    assert!(text(&run.stderr).contains("refused: bin/prog would lose"), "{}", text(&run.stderr));
    tool(
        &lab,
        "sh fix.sh tree; ls tree/bin | cmp - <<E\nprog\nE\n[ -u tree/bin/prog ]; tree/bin/prog",
    );
    let kept = tool(&lab, "PATH=$PATH:/usr/sbin; getcap tree/bin/prog");
    assert!(kept.contains("cap_net_raw"), "{kept}");
}

/// If the disk is full, the script keeps the new content of the file.
#[test]
fn a_write_that_fails_keeps_the_new_content() {
    if !has("patchelf") {
        return skip("a_write_that_fails_keeps_the_new_content", "patchelf is not installed");
    }
    let lab = lab(CALLS, &[]);
    assert_eq!(fix(&lab, "missing-library")["proven"], true);
    tool(
        &lab,
        "mkdir bin; printf '#!/bin/sh\nhead -c 99 \"$1\"; exit 1\n' >bin/cat; chmod +x bin/cat",
    );
    let run = lab.sh("PATH=$PWD/bin:$PATH sh fix.sh tree");
    let said = text(&run.stderr);
    assert!(
        !run.status.success() && said.contains("its new content is in ./tree/bin/prog."),
        "{said}"
    );
    tool(&lab, "mv tree/bin/prog.* tree/bin/prog; tree/bin/prog");
}

/// A script that cannot ask patchelf reports an error: an empty answer is not the state of the
/// file.
#[test]
fn a_script_without_answers_fails() {
    let lab = Lab::new();
    tool(&lab, "mkdir -p tree/lib");
    let flags = ["-Wl,-soname,libv.so", "-nostdlib", "-Wl,-rpath,$ORIGIN/gone"];
    lab.so("tree/lib/libv.so", "int v = 1;", &flags);
    assert_eq!(fix(&lab, "dead-search-entry")["proven"], true);
    tool(
        &lab,
        "mkdir bin; for t in sh sha256sum cut sort mktemp cp cat rm cmp; do \
                ln -s \"$(command -v $t)\" bin; done",
    );
    let run = |expected: &str| {
        let run = lab.sh("PATH=$PWD/bin sh fix.sh tree");
        let said = text(&[run.stdout, run.stderr].concat());
        assert_eq!((run.status.code(), said.contains(expected)), (Some(1), true), "{said}");
    };
    run("not installed: patchelf");
    for (option, expected) in [
        ("--print-rpath", "failed: patchelf cannot read lib/libv.so"),
        ("--print-needed", "failed: patchelf cannot read lib/libv.so"),
        ("--remove-rpath", "failed: patchelf cannot change lib/libv.so"),
    ] {
        lab.write(
            "bin/patchelf",
            format!(
                "#!/bin/sh\n[ \"$1\" != {option} ] || exit 1\n\
                 [ \"$1\" = --print-needed ] || echo x\n"
            ),
        );
        tool(&lab, "chmod +x bin/patchelf");
        run(expected);
    }
    for (checker, check) in [("dash", "dash -n fix.sh"), ("shellcheck", "shellcheck fix.sh")] {
        if has(checker) {
            tool(&lab, check);
        }
    }
}
