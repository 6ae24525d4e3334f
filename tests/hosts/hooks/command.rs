//! The command itself: the list, the printed files, installation, refusals, removal.

use linkaudit::hooks::SYSTEMS;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use crate::support::{Lab, linkaudit};

fn hook(lab: &Lab, args: &[&str]) -> Output {
    lab.linkaudit(&[&["hook"], args].concat())
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text in UTF-8")
}

#[test]
fn systems_are_listed() {
    let run = linkaudit().arg("hook").output().expect("linkaudit runs");
    assert_eq!(run.status.code(), Some(0));
    let list = text(&run.stdout);
    assert_eq!(list.lines().count(), SYSTEMS.len() + 1);
    for (line, system) in list.lines().skip(1).zip(SYSTEMS) {
        assert_eq!(line.split_whitespace().next(), Some(system.name));
        assert!(line.contains(system.summary) && line.ends_with(system.dir), "{line}");
    }
}

#[test]
fn files_and_page_are_printed() {
    let lab = Lab::new();
    for system in SYSTEMS {
        let run = hook(&lab, &[system.name]);
        assert_eq!(run.status.code(), Some(0), "{}", system.name);
        let printed = text(&run.stdout);
        for file in system.files {
            assert!(printed.contains(file.text), "{}: {}", system.name, file.path);
        }
        let last = system.page.lines().last().expect("a page");
        assert!(printed.trim_end().ends_with(last), "{}: the page is last", system.name);
        // A single file stays a valid file when its text is redirected.
        if let [file] = system.files {
            assert!(printed.starts_with(file.text), "{}", system.name);
        }
    }
}

#[test]
fn a_mistyped_system_gets_a_suggestion() {
    let lab = Lab::new();
    for (typed, meant) in
        [("debain", "`debian`"), ("precommit", "`pre-commit`"), ("zzzzzz", "list the systems")]
    {
        let run = hook(&lab, &[typed]);
        assert_eq!(run.status.code(), Some(2));
        assert!(run.stdout.is_empty());
        let said = text(&run.stderr);
        assert!(
            said.contains(&format!("unknown system `{typed}`")) && said.contains(meant),
            "{said}"
        );
    }
}

#[test]
fn options_need_each_other() {
    let lab = Lab::new();
    for args in [&["--install", "."][..], &["nix", "--uninstall"], &["nix", "--format", "json"]] {
        assert_eq!(hook(&lab, args).status.code(), Some(2), "{args:?}");
    }
    let run = hook(&lab, &["nix", "--install", "absent"]);
    assert_eq!(run.status.code(), Some(2));
    assert!(text(&run.stderr).contains("absent: not a directory"), "{}", text(&run.stderr));
}

/// Every file of every system, twice, and its removal.
#[test]
fn what_is_installed_is_removed() {
    let lab = Lab::new();
    let mut files = 0;
    for system in SYSTEMS {
        lab.mkdir(system.name);
        for word in ["wrote", "unchanged"] {
            let run = hook(&lab, &[system.name, "--install", system.name]);
            assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
            let said = text(&run.stdout);
            assert_eq!(said.matches(word).count(), system.files.len(), "{said}");
        }
        for file in system.files {
            files += 1;
            let path = lab.path(system.name).join(file.path);
            assert_eq!(std::fs::read_to_string(&path).expect("it is there"), file.text);
            let mode = path.metadata().expect("it is there").permissions().mode();
            assert_eq!(mode & 0o100 != 0, file.is_program, "{}", file.path);
        }
        let run = hook(&lab, &[system.name, "--install", system.name, "--uninstall"]);
        assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
        for file in system.files {
            assert!(!lab.path(system.name).join(file.path).exists(), "{}", file.path);
        }
    }
    println!("hook --install: {} systems, {files} files, 0 differ", SYSTEMS.len());
}

/// A printed program that was redirected to its place has no execute bit.
#[test]
fn a_program_without_the_execute_bit_gets_it() {
    let lab = Lab::new();
    let printed = hook(&lab, &["conda"]).stdout;
    let program = &SYSTEMS.iter().find(|one| one.name == "conda").expect("a system").files[0];
    assert!(program.is_program && printed.starts_with(program.text.as_bytes()));
    let path = lab.write("linkaudit.sh", program.text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("permissions");
    for word in ["made executable: ./linkaudit.sh", "unchanged ./linkaudit.sh"] {
        let run = hook(&lab, &["conda", "--install", "."]);
        assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
        assert!(text(&run.stdout).starts_with(word), "{}", text(&run.stdout));
        assert_eq!(path.metadata().expect("it is there").permissions().mode() & 0o777, 0o750);
    }
}

#[test]
fn other_files_are_shown_and_left() {
    let lab = Lab::new();
    let old = "Tests: mine\nDepends: @\n";
    lab.write("debian/tests/control", old);
    for more in [&[][..], &["--uninstall"]] {
        let run = hook(&lab, &[&["autopkgtest", "--install", "."][..], more].concat());
        assert_eq!(run.status.code(), Some(2));
        let said = text(&run.stderr);
        for line in
            ["--- ./debian/tests/control", "-Tests: mine", "-Depends: @", "+Tests: linkaudit"]
        {
            assert!(said.lines().any(|one| one == line), "{line} in\n{said}");
        }
        assert!(said.contains("1 file differs: nothing was"), "{said}");
        let kept = std::fs::read_to_string(lab.path("debian/tests/control"));
        assert_eq!(kept.expect("it is there"), old);
        // A file that does not exist yet is not written either.
        assert!(!lab.path("debian/tests/linkaudit").exists());
    }
}

#[test]
fn links_and_directories_are_left() {
    let lab = Lab::new();
    lab.write("elsewhere", "");
    lab.mkdir("a");
    lab.link("../elsewhere", "a/linkaudit.sh");
    lab.mkdir("b/linkaudit.sh");
    lab.write("c/linkaudit.sh", b"\xff\xfe");
    for (dir, why) in [("a", "is a link"), ("b", "is a directory"), ("c", "-\u{fffd}\u{fffd}")] {
        let run = hook(&lab, &["conda", "--install", dir]);
        assert_eq!(run.status.code(), Some(2), "{dir}");
        assert!(text(&run.stderr).contains(why), "{}", text(&run.stderr));
    }
    assert_eq!(std::fs::read(lab.path("elsewhere")).expect("it is there"), b"");
}

/// The diff equals that of `diff -u`, for texts that differ in one place and in several.
#[test]
fn differences_are_those_of_diff() {
    let lab = Lab::new();
    let new = SYSTEMS.iter().find(|one| one.name == "conda").expect("a system").files[0].text;
    let cut: String = new.lines().skip(5).map(|line| format!("{line}\n")).collect();
    let both = new.replacen("set -eu\n", "set -e\n", 1) + "true\n";
    let texts =
        [new.replacen("set -eu\n", "", 1), cut, both, new.trim_end().to_owned(), String::new()];
    for old in &texts {
        lab.write("linkaudit.sh", old);
        lab.write("new", new);
        let theirs = lab.sh("diff -u linkaudit.sh new || true");
        let ours = hook(&lab, &["conda", "--install", "."]);
        let hunks = |text: &str| -> Vec<String> {
            let lines = text.lines().skip_while(|line| !line.starts_with("@@"));
            let lines = lines.take_while(|line| !line.starts_with("error: "));
            lines.map(str::to_owned).collect()
        };
        assert_eq!(hunks(text(&ours.stderr)), hunks(text(&theirs.stdout)));
    }
    println!("diff -u: {} cases, 0 differences", texts.len());
}
