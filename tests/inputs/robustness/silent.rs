//! Damage that must be reported, with the table and the offset in the file.

use super::report::Report;
use super::{ended, limited};
use crate::support::{self, Lab};

/// `detail` of all findings of a rule.
fn details<'a>(report: &'a Report, rule: &'a str) -> Vec<&'a str> {
    report.of_rule(rule).map(|finding| finding["detail"].as_str().expect("text")).collect()
}

fn audit(lab: &Lab, args: &[&str]) -> Report {
    Report::of(support::linkaudit().current_dir(lab.root()).args(args))
}

/// A library that refers to a function, defines another, and has all its names in `.dynstr`.
fn library(lab: &Lab) -> Vec<u8> {
    let source =
        "int puts(const char *); int gone(void); int here(void) { return puts(\"\") + gone(); }";
    let path = lab.so("lib.so", source, &["-Wl,-soname,libname.so", "-Wl,--hash-style=gnu"]);
    std::fs::read(path).expect("a library")
}

/// A column of the line of `readelf -SW` that has `name`: the offset or the size of a section.
fn section(lab: &Lab, name: &str) -> (usize, usize) {
    let output = lab.sh("readelf -SW lib.so");
    let text = String::from_utf8(output.stdout).expect("text");
    let line = text.lines().find_map(|line| line.split_once(&format!("] {name} "))).expect(name).1;
    let columns: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| usize::from_str_radix(columns[at], 16).expect("a number");
    (number(2), number(3))
}

#[test]
fn names_of_symbols_outside_of_the_string_table() {
    let lab = Lab::new();
    let good = library(&lab);
    let (symbols, size) = section(&lab, ".dynsym");
    let mut cases = 0;
    for at in (symbols + 24..symbols + size).step_by(24) {
        for name in [u32::MAX, 0x7fff_0000, section(&lab, ".dynstr").1 as u32] {
            let mut bytes = good.clone();
            bytes[at..at + 4].copy_from_slice(&name.to_le_bytes());
            lab.write("bad/lib.so", bytes);
            let report = audit(&lab, &["bad"]);
            let what = format!(
                "dynamic symbol table at {at:#x}: holds a name that lies outside the string table"
            );
            assert_eq!(details(&report, "malformed"), [what], "{at:#x} {name:#x}");
            assert!(!report.complete());
            cases += 1;
        }
    }
    println!("names of symbols: {cases} cases, 0 silent");
}

#[test]
fn names_of_the_dynamic_section_and_of_versions() {
    let lab = Lab::new();
    let good = library(&lab);
    let (dynamic, size) = section(&lab, ".dynamic");
    let mut offsets = Vec::new();
    for at in (dynamic..dynamic + size).step_by(16) {
        // DT_NEEDED and DT_SONAME
        if matches!(good[at], 1 | 14) {
            let mut bytes = good.clone();
            bytes[at + 8..at + 16].copy_from_slice(&0x7fff_0000_u64.to_le_bytes());
            lab.write("bad/lib.so", bytes);
            let report = audit(&lab, &["bad"]);
            let what = format!(
                "dynamic section at {at:#x}: holds a name that lies outside the string table"
            );
            assert_eq!(details(&report, "malformed"), [what]);
            offsets.push(at);
        }
    }
    assert!(offsets.len() >= 2, "{offsets:?}");
    let (versions, _) = section(&lab, ".gnu.version_r");
    let mut bytes = good.clone();
    // vn_file of the first record, vna_name of its first version.
    for (at, record) in [(versions + 4, versions), (versions + 16 + 8, versions + 16)] {
        bytes[at..at + 4].copy_from_slice(&0x7fff_0000_u32.to_le_bytes());
        lab.write("bad/lib.so", &bytes);
        let report = audit(&lab, &["bad"]);
        let what =
            format!("version needs at {record:#x}: a record's name lies outside the string table");
        assert_eq!(details(&report, "malformed"), [what]);
        bytes.clone_from(&good);
    }
}

/// The loader aborts at a wrong DT_RELAENT and never reads DT_SYMENT, as its answers show.
#[test]
fn entry_sizes_of_the_dynamic_section() {
    let lab = Lab::new();
    let good = library(&lab);
    let (dynamic, size) = section(&lab, ".dynamic");
    for (tag, is_read) in [(9, true), (11, false)] {
        let at = (dynamic..dynamic + size).step_by(16).find(|at| good[*at] == tag);
        let at = at.expect("the entry");
        let mut bytes = good.clone();
        bytes[at + 8..at + 16].copy_from_slice(&16_u64.to_le_bytes());
        lab.write("bad/lib.so", bytes);
        let listed = lab.sh("/lib64/ld-linux-x86-64.so.2 --list bad/lib.so 2>&1 || true").stdout;
        let aborts = String::from_utf8_lossy(&listed).contains("Inconsistency detected");
        assert_eq!(aborts, is_read, "tag {tag}");
        let report = audit(&lab, &["bad"]);
        let what = "has an entry size or DT_PLTREL at which the loader aborts";
        let expected = is_read.then(|| format!("dynamic section at {dynamic:#x}: {what}"));
        let expected: Vec<String> = expected.into_iter().collect();
        assert_eq!(details(&report, "malformed"), expected, "tag {tag}");
    }
}

/// DT_SYMTAB with an address outside of every segment: no offset belongs to it.
#[test]
fn addresses_are_not_called_offsets() {
    let lab = Lab::new();
    let mut bytes = library(&lab);
    let (dynamic, size) = section(&lab, ".dynamic");
    let at = (dynamic..dynamic + size).step_by(16).find(|at| bytes[*at] == 6).expect("DT_SYMTAB");
    bytes[at + 8..at + 16].copy_from_slice(&0x7fff_0000_u64.to_le_bytes());
    lab.write("bad/lib.so", bytes);
    let report = audit(&lab, &["bad"]);
    let expected = "dynamic symbol table at address 0x7fff0000: lies in no PT_LOAD";
    assert!(details(&report, "malformed").contains(&expected), "{:?}", report.outline());
}

#[test]
fn objects_that_are_cut() {
    let lab = Lab::new();
    let source = "int gone(void); int here(void) { return gone(); }";
    let good = std::fs::read(lab.cc("good.o", source, &["-c"], &[])).expect("an object");
    lab.sh("ar rcs good.a good.o");
    let mut cases = 0;
    for len in (64..good.len()).step_by(97).chain([good.len() - 1]) {
        lab.write("cut.o", &good[..len]);
        let report = audit(&lab, &["cut.o"]);
        assert_eq!((report.status, report.of_rule("malformed").count()), (3, 1), "{len} bytes");
        let (status, error) =
            ended(&lab.linkaudit(&["archive", "good.a", "--root-object", "cut.o"]));
        assert_eq!(status, 2, "{len} bytes: {error}");
        assert!(error.contains("cut.o") && error.contains("not a readable"), "{error}");
        cases += 1;
    }
    println!("cut objects: {cases} cases, 0 silent");
}

#[test]
fn members_of_thin_archives_that_are_no_files() {
    let lab = Lab::new();
    lab.cc("p/o/a.o", "int here;", &["-c"], &[]);
    lab.sh("cd p && ar rcsT thin.a o/a.o");
    let cases: [(&str, &str); 4] = [
        ("rm p/o/a.o", "names o/a.o, which does not exist"),
        ("mkfifo p/o/a.o", "names o/a.o, which is a FIFO"),
        ("rm p/o/a.o; mkdir p/o/a.o", "names o/a.o, which is a directory"),
        ("rmdir p/o/a.o; ln -s a.o p/o/a.o", "names o/a.o, which is a file that cannot be opened"),
    ];
    for (change, message) in cases {
        lab.sh(change);
        let report = audit(&lab, &["p/thin.a"]);
        let found: Vec<_> = report.of_rule("thin-member-missing").collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["message"], message);
        assert!(!report.complete(), "{message}");
        let args = ["archive", "p/thin.a", "--all-members", "--format", "json"];
        let output = limited(&lab, "", &args).output().expect("a run");
        assert_eq!(ended(&output).0, 3);
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(answer["complete"], false);
    }
}

/// Every length that cuts off only section headers.
#[test]
fn files_that_end_before_their_section_headers() {
    let lab = Lab::new();
    let good = library(&lab);
    let start = u64::from_le_bytes(good[40..48].try_into().expect("eight bytes")) as usize;
    for len in [start, start + 1, good.len() - 1] {
        lab.write("cut/lib.so", &good[..len]);
        let report = audit(&lab, &["cut"]);
        assert_eq!(report.of_rule("truncated-file").count(), 1, "{len}: {:?}", report.outline());
        assert!(report.complete());
    }
    lab.write("cut/lib.so", &good);
    assert_eq!(audit(&lab, &["cut"]).of_rule("truncated-file").count(), 0);
}

/// The target of a link is unknown if a directory on its path may not be searched. Root may search
/// every directory, so the audit runs as another user.
#[test]
fn links_into_a_closed_directory() {
    let lab = Lab::new();
    lab.so("p/lib.so", "int f(void) { return 1; }", &[]);
    lab.so("closed/sub/lib.so", "int g(void) { return 1; }", &[]);
    for (target, name) in [("lib.so", "p/file.so"), ("", "p/dir"), ("none", "p/nothing")] {
        lab.link(&format!("../closed/sub/{target}"), name);
    }
    std::fs::copy(env!("CARGO_BIN_EXE_linkaudit"), lab.path("linkaudit")).expect("a copy");
    lab.sh("chmod 755 .; chmod 700 closed");
    let audit = "env -i ./linkaudit --isolated -j 1 --format json p";
    let output = lab.sh(&format!(
        "if [ $(id -u) = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups {audit}
         else chmod 0 closed; {audit}; chmod 700 closed; fi || true"
    ));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    let findings = report["findings"].as_array().expect("findings");
    let said: Vec<_> = findings
        .iter()
        .map(|finding| (finding["rule"].as_str(), finding["message"].as_str()))
        .collect();
    let why = Some("permission denied");
    assert_eq!(said, [(Some("unreadable"), why); 3]);
    assert_eq!(report["complete"], false);
}
