//! Static archives as candidates: the archive and member that define a missing symbol, for every
//! kind of archive.

use super::kit::{BROKEN, FOO, at, evidence, object, only, report, run, run_ar, text};
use crate::support::Lab;
use serde_json::{Value, json};

const SHORT: &str = "gone.o";
const LONG: &str = "a_member_with_a_rather_long_name.o";

/// `p/libbroken.so` lacks `gone`; `objects` has a member that defines it, by a short or a long
/// name, between two others.
fn lab(member: &str) -> Lab {
    let lab = Lab::new();
    lab.so("p/libbroken.so", BROKEN, &[]);
    object(&lab, "objects/first.o", FOO);
    object(&lab, &format!("objects/{member}"), "void gone(void) {}");
    object(&lab, "objects/the_last_one_has_a_long_name_too.o", "int odd(void) { return 3; }");
    lab
}

fn members(member: &str) -> Vec<String> {
    ["first.o", member, "the_last_one_has_a_long_name_too.o"]
        .map(|name| format!("objects/{name}"))
        .to_vec()
}

fn archive(lab: &Lab, options: &[&str], member: &str) {
    lab.mkdir("more");
    let members = members(member);
    let members: Vec<&str> = members.iter().map(String::as_str).collect();
    run_ar(lab, &[options, &["more/libmore.a"], &members].concat());
}

/// The only candidate for `gone`, with the archive beside the prefix and in it. Members of thin
/// archives are opened only below given paths.
#[track_caller]
fn candidate(lab: &Lab) -> Value {
    let beside = report(lab, &["p", "--lib-path", "more", "--lib-path", "objects"]);
    let inside = report(lab, &["p", "more", "--lib-path", "objects"]);
    let found = evidence(only(&beside, "undefined-symbol"), "candidate");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["path"], at(lab, "more/libmore.a"));
    assert_eq!(found[0]["symbol"], "gone");
    assert_eq!(evidence(only(&inside, "undefined-symbol"), "candidate"), found);
    assert_eq!(inside["totals"]["archives"], 1);
    found[0].clone()
}

#[test]
fn an_archive_with_an_index() {
    for member in [SHORT, LONG] {
        let lab = lab(member);
        archive(&lab, &["rc"], member);
        assert_eq!(candidate(&lab)["member"], member);
    }
}

#[test]
fn an_archive_without_an_index() {
    for member in [SHORT, LONG] {
        let lab = lab(member);
        archive(&lab, &["rcS"], member);
        assert_eq!(candidate(&lab)["member"], member);
    }
}

#[test]
fn a_thin_archive() {
    for member in [SHORT, LONG] {
        let lab = lab(member);
        archive(&lab, &["rc", "--thin"], member);
        let found = candidate(&lab);
        // Members are named by their paths from the archive.
        assert_eq!(found["member"], format!("../objects/{member}"));
    }
}

#[test]
fn a_thin_archive_without_an_index_does_not_pass_in_silence() {
    let lab = lab(SHORT);
    archive(&lab, &["rcS", "--thin"], SHORT);
    let report = report(&lab, &["p", "--lib-path", "more"]);
    let named = report["findings"].as_array().expect("findings").iter().any(|finding| {
        // Either the member is found, or the report has the archive as not read.
        finding["rule"] != "undefined-symbol" || !evidence(finding, "candidate").is_empty()
    });
    assert!(named, "{:#}", report["findings"]);
}

#[test]
fn an_archive_of_bsd() {
    for member in [SHORT, LONG] {
        let lab = lab(member);
        let path = lab.mkdir("more").join("libmore.a");
        let mut builder = ar::Builder::new(std::fs::File::create(path).expect("an archive"));
        for name in members(member) {
            builder.append_path(lab.path(&name)).expect("a member");
        }
        drop(builder);
        assert_eq!(candidate(&lab)["member"], member);
    }
}

#[test]
fn the_report_for_people_names_the_member() {
    let lab = lab(SHORT);
    archive(&lab, &["rc"], SHORT);
    let text = run(&lab, &["p", "--lib-path", "more"]).out;
    let line = format!("  candidate  {}(gone.o)\n", at(&lab, "more/libmore.a"));
    assert!(text.contains(&line), "{text}");
}

#[test]
fn members_that_only_refer_or_define_for_themselves_are_none() {
    let lab = lab(SHORT);
    object(&lab, "objects/gone.o", BROKEN);
    object(&lab, "objects/static.o", "static void gone(void) {} void *p = gone;");
    lab.mkdir("more");
    run_ar(&lab, &["rc", "more/libmore.a", "objects/gone.o", "objects/static.o"]);
    run_ar(&lab, &["rcS", "more/libbare.a", "objects/gone.o", "objects/static.o"]);
    let report = report(&lab, &["p", "--lib-path", "more"]);
    assert_eq!(evidence(only(&report, "undefined-symbol"), "candidate"), [&Value::Null; 0]);
}

#[test]
fn weak_and_common_definitions_count() {
    for source in ["__attribute__((weak)) void gone(void) {}", "int gone __attribute__((common));"]
    {
        for options in ["rc", "rcS"] {
            let lab = lab(SHORT);
            object(&lab, "objects/gone.o", source);
            archive(&lab, &[options], SHORT);
            assert_eq!(candidate(&lab)["member"], "gone.o", "{source} {options}");
        }
    }
}

#[test]
fn an_archive_is_not_a_root_and_not_loaded() {
    let lab = lab(SHORT);
    archive(&lab, &["rc"], SHORT);
    std::fs::copy(lab.path("p/libbroken.so"), lab.path("more/libbroken.so")).expect("a copy");
    let report = report(&lab, &["more"]);
    assert_eq!(report["totals"]["roots"], 1);
    assert_eq!(report["totals"]["archives"], 1);
    assert_eq!(text(&only(&report, "undefined-symbol")["path"]), "libbroken.so");
}

#[test]
fn an_empty_and_a_damaged_archive() {
    let lab = lab(SHORT);
    lab.write("more/libempty.a", "!<arch>\n");
    let run = report(&lab, &["p", "--lib-path", "more"]);
    assert_eq!(evidence(only(&run, "undefined-symbol"), "candidate"), [&Value::Null; 0]);
    archive(&lab, &["rc"], SHORT);
    let whole = std::fs::read(lab.path("more/libmore.a")).expect("the archive");
    // Truncated within the index: the definitions are unknown, and this must be reported.
    lab.write("more/libmore.a", &whole[..70]);
    let cut = report(&lab, &["p", "--lib-path", "more"]);
    assert_eq!(cut["complete"], json!(false), "{:#}", cut["findings"]);
}

#[test]
fn a_damaged_archive_is_told_of_by_every_command() {
    let lab = lab(SHORT);
    archive(&lab, &["rc"], SHORT);
    let bytes = std::fs::read(lab.path("more/libmore.a")).expect("an archive");
    lab.write("more/libmore.a", &bytes[..bytes.len() - 200]);
    // `archive` has no other finding, but the audit is incomplete. `fix` verifies no link with an
    // archive that linkers refuse.
    let commands: [(i32, &[&str]); 2] = [
        (3, &["archive", "more/libmore.a", "--all-members"]),
        (1, &["fix", "p", "--lib-path", "more"]),
    ];
    for (status, args) in commands {
        let answer = run(&lab, args);
        assert_eq!(answer.status, status, "{args:?}: {}", answer.out);
        assert!(answer.out.contains("incomplete[malformed]"), "{args:?}: {}", answer.out);
        let words = answer.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("claims more bytes"), "{args:?}: {}", answer.out);
        let mut lines = answer.out.lines().skip_while(|line| !line.starts_with("incomplete["));
        assert!(lines.all(|line| line.chars().count() <= 100), "{args:?}: {}", answer.out);
    }
}
