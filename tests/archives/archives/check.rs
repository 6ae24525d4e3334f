//! `check` and archives: an undefined symbol is traced to the member that refers to it, to the
//! member's origin, and to the archives that define it. Reports have a line for each archive.

use super::kit::{ar, object};
use crate::support::Lab;
use serde_json::{Value, json};

/// A library whose merged archive lacks one of its parts.
fn lab() -> Lab {
    let lab = Lab::new();
    object(&lab, "driver.o", ".globl drive\ndrive: .quad Init_x\n");
    object(&lab, "x.o", ".globl Init_x\nInit_x: .quad 0\n");
    object(&lab, "own.o", ".globl own\nown: .quad drive\n");
    lab.mkdir("lib");
    lab.mkdir("parts");
    ar(&lab, "rc", "parts/libdriver.a", &["driver.o"]);
    ar(&lab, "rc", "parts/libx.a", &["x.o"]);
    ar(&lab, "rc", "lib/libfat.a", &["own.o", "driver.o"]);
    let source = "extern int own; int *f(void) { return &own; }";
    lab.so("lib/libuser.so", source, &["-Llib", "-lfat", "-Wl,-z,undefs"]);
    lab
}

fn report(lab: &Lab, args: &[&str]) -> Value {
    let output = lab.linkaudit(&[args, &["--format", "json"]].concat());
    crate::support::whole(&output.stdout)
}

#[test]
fn an_undefined_symbol_is_traced() {
    let lab = lab();
    let report = report(&lab, &["lib", "--lib-path", "parts"]);
    let finding = &report["findings"][0];
    assert_eq!(
        (&finding["rule"], &finding["symbol"]),
        (&json!("undefined-symbol"), &json!("Init_x"))
    );
    let evidence = finding["evidence"].as_array().expect("evidence");
    let of = |kind: &str| evidence.iter().find(|e| e["kind"] == kind && !e["member"].is_null());
    let reference = of("reference").expect("who refers");
    assert!(reference["path"].as_str().is_some_and(|path| path.ends_with("lib/libfat.a")));
    assert_eq!(reference["member"], "driver.o");
    assert!(reference["archive"].as_str().is_some_and(|path| path.ends_with("libdriver.a")));
    let candidate = of("candidate").expect("who defines");
    assert!(candidate["path"].as_str().is_some_and(|path| path.ends_with("parts/libx.a")));
    let text = lab.linkaudit(&["lib", "--lib-path", "parts"]).stdout;
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("used by    libfat.a(driver.o) from libdriver.a"), "{text}");
}

/// Two archives of one package share members. The library is linked from neither.
#[test]
fn archives_that_share_members_are_no_evidence() {
    let lab = Lab::new();
    object(&lab, "message.o", ".globl message\nmessage: .quad inflate\n");
    object(&lab, "core.o", ".globl core\ncore: .quad 0\n");
    object(&lab, "secure.o", ".globl secure\nsecure: .quad 0\n");
    object(&lab, "inflate.o", ".globl inflate\ninflate: .quad 0\n");
    lab.mkdir("lib");
    lab.mkdir("parts");
    ar(&lab, "rc", "parts/librpc.a", &["message.o", "core.o", "secure.o"]);
    ar(&lab, "rc", "parts/librpc_insecure.a", &["message.o", "core.o"]);
    ar(&lab, "rc", "parts/libzip.a", &["inflate.o"]);
    let source = "int inflate(void); int f(void) { return inflate(); }";
    let used = |source: &str, more: &[&str]| {
        lab.so("lib/libuser.so", source, &[&["-Wl,-z,undefs"], more].concat());
        let said = lab.linkaudit(&["lib", "--lib-path", "parts"]).stdout;
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(said.contains("inflate"), "{said}");
        said.contains("used by    librpc")
    };
    assert!(!used(source, &[]));
    let linked = "extern int message; int *f(void) { return &message; }";
    assert!(used(linked, &["-Lparts", "-lrpc"]));
}

/// A program has a copy of `table`, which a library defines, and its own `main`. Neither name
/// shows that the member with the same names is in the program.
#[test]
fn copied_data_and_main_are_no_evidence_of_a_member() {
    let lab = Lab::new();
    lab.mkdir("lib");
    let table = ".data\n.globl table\ntable: .quad helper\n";
    object(&lab, "table.o", &format!("{table}.globl main\nmain: .quad 0\n"));
    object(&lab, "own.o", &format!("{table}.globl own\nown: .quad 0\n"));
    lab.so("lib/libtable.so", "long table;", &[]);
    let source = "extern long table; int helper(void); int OWN(void) { return 0; }\n\
        int main(void) { return (int)table + helper(); }";
    let flags = ["-fno-pie", "-no-pie", "-rdynamic", "-Llib", "-ltable", "-Wl,-rpath,$ORIGIN"];
    let traced = |own: &str, member: &str| {
        ar(&lab, "rc", "lib/libfoo.a", &[member]);
        lab.exe("lib/program", source, &[&flags[..], &[own]].concat());
        let said = lab.linkaudit(&["lib"]).stdout;
        std::fs::remove_file(lab.path("lib/libfoo.a")).expect("the archive is removed");
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(said.contains("helper: undefined in program"), "{said}");
        said.contains("used by    libfoo.a(")
    };
    assert!(!traced("-DOWN=other", "table.o"));
    assert!(traced("-DOWN=own", "own.o"));
}

/// Candidates for the only undefined symbol, with the evidence for each.
fn candidates(report: &Value) -> Vec<(&str, &Value)> {
    let findings = report["findings"].as_array().expect("findings").iter();
    let mut undefined = findings.filter(|finding| finding["rule"] == "undefined-symbol");
    let evidence = undefined.next().expect("a finding")["evidence"].as_array().expect("evidence");
    assert!(undefined.next().is_none(), "{report:#}");
    let candidates = evidence.iter().filter(|piece| piece["kind"] == "candidate");
    let mut out = Vec::new();
    for piece in candidates {
        let path = piece["path"].as_str().expect("a path");
        out.push((path.rsplit('/').next().unwrap_or(path), &piece["reason"]));
    }
    out
}

#[test]
fn a_candidate_that_the_list_leaves_out_says_so() {
    let lab = lab();
    ar(&lab, "rc", "parts/libspare.a", &["x.o"]);
    let policy = |archive: &str, list: &str| {
        lab.write("lists/deps.cmake", format!("set(parts\n{list}\n)\n"));
        let policy = format!(
            "schema = 1\n[[archive]]\nmatch = \"**/{archive}\"\ndeps-list = \"lists/deps.cmake\"\n"
        );
        lab.write("policy.toml", policy);
    };
    let args = ["lib", "--lib-path", "parts", "--policy", "policy.toml"];
    let out = json!("not in deps.cmake");
    // The list, the archive that is merged from it, and the lines about libspare.a and libx.a.
    let cases = [
        ("libfat.a", "driver", [&out, &out]),
        ("libfat.a", "driver\nspare", [&Value::Null, &out]),
        ("libfat.a", "driver\nspare\nx", [&Value::Null, &Value::Null]),
        // The list belongs to another archive.
        ("libother.a", "driver", [&Value::Null, &Value::Null]),
    ];
    for (archive, list, [spare, x]) in cases {
        policy(archive, list);
        let report = report(&lab, &args);
        let expected = [("libspare.a", spare), ("libx.a", x)];
        assert_eq!(candidates(&report), expected, "{archive}: {list}");
    }
    policy("libfat.a", "driver\nspare");
    let text = lab.linkaudit(&args).stdout;
    let text = String::from_utf8_lossy(&text);
    let line = |name: &str, more: &str| format!("/parts/{name}(x.o){more}\n");
    assert!(text.contains(&line("libx.a", ": not in deps.cmake")), "{text}");
    assert!(text.contains(&line("libspare.a", "")), "{text}");
}

#[test]
fn every_archive_has_a_line() {
    let lab = lab();
    let report = report(&lab, &["lib"]);
    let path = lab.path("lib/libfat.a");
    let line = json!({ "path": path, "members": 2, "opaque": 0, "references": 1 });
    assert_eq!(report["archives"], json!([line]));
    let text = lab.linkaudit(&["-v", "lib"]).stdout;
    let text = String::from_utf8_lossy(&text);
    let line =
        "2 members, 0 opaque (LTO or bitcode), 1 referenced name that no audited file defines";
    assert!(text.contains(line), "{text}");
}

#[test]
fn damage_names_archive_member_and_reason() {
    let lab = lab();
    let mut bytes = std::fs::read(lab.path("lib/libfat.a")).expect("the archive");
    let elf = bytes.windows(4).rposition(|four| four == b"\x7fELF").expect("a member");
    // e_shoff
    bytes[elf + 40..elf + 48].copy_from_slice(&u64::MAX.to_le_bytes());
    lab.write("lib/libfat.a", bytes);
    let report = report(&lab, &["lib"]);
    let findings = report["findings"].as_array().expect("findings");
    let finding = findings.iter().find(|f| f["rule"] == "malformed").expect("the damage");
    assert_eq!((&finding["path"], &finding["member"]), (&json!("libfat.a"), &json!("driver.o")));
    let message = finding["message"].as_str().expect("a message");
    assert!(message.contains("section headers at 0x"), "{message}");
}

/// A plain audit does not read the members of many large archives, and the report has the number
/// of these archives.
#[test]
fn what_is_not_read_to_its_members_is_said() {
    let lab = lab();
    let size = 70 << 20;
    let header = format!("!<arch>\n{:<48}{size:<10}`\n", "zeros/");
    let large = lab.write("lib/large.a", header);
    let file = std::fs::OpenOptions::new().write(true).open(large).expect("the archive");
    file.set_len(68 + size).expect("a sparse file");
    let text = lab.linkaudit(&["lib/large.a", "lib/libfat.a"]).stdout;
    assert!(!String::from_utf8_lossy(&text).contains("not read"), "given by name");
    std::fs::remove_file(lab.path("lib/libuser.so")).expect("the library");
    let text = lab.linkaudit(&["lib"]).stdout;
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("2 archives skipped: members not audited (name an archive"), "{text}");
    // A link to an archive outside of the directory counts too.
    lab.mkdir("links");
    lab.link("../lib/large.a", "links/liblarge.a");
    let linked = lab.linkaudit(&["links"]).stdout;
    let linked = String::from_utf8_lossy(&linked);
    assert!(linked.contains(": 0 ELF files, 1 archive, 0 entry points\n"), "{linked}");
    assert!(linked.contains("1 archive skipped: members not audited"), "{linked}");
    let totals = &report(&lab, &["links"])["totals"];
    assert_eq!((&totals["audited_archives"], &totals["unread_archives"]), (&json!(1), &json!(1)));
    let unread = json!({ "path": lab.path("lib/libfat.a"), "members": null, "opaque": null, "references": null });
    assert_eq!(report(&lab, &["lib"])["archives"][1], unread);
}
