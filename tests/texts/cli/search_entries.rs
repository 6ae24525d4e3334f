//! Entries of search paths that other users control, and entries without a directory.

use super::kit::{findings, run};
use crate::support::{self, Lab};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

const MAIN: &str = "int main(void) { return 0; }";

/// Rule and message of each finding about search paths.
fn found(lab: &Lab, args: &[&str]) -> Vec<String> {
    let run = run(lab, &[args, &["--format", "json", "-A", "undecided"]].concat());
    assert_eq!(run.err, "");
    let report: Value = support::whole(run.out.as_bytes());
    let root = lab.root();
    let here = root.to_str().expect("a path in UTF-8");
    let line = |finding: &Value| {
        let part = |key: &str| finding[key].as_str().unwrap_or_default().replace(here, "HERE");
        format!("{} {}: {}", part("rule"), part("path"), part("message"))
    };
    // The laboratory may lie below a directory of builds.
    let is_of_lab = |line: &String| !line.contains(": below /tmp;");
    findings(&report).iter().map(line).filter(is_of_lab).collect()
}

fn app(lab: &Lab, entry: &str) {
    lab.exe("p/bin/app", MAIN, &[&format!("-Wl,-rpath,{entry}")]);
}

fn set_mode(lab: &Lab, name: &str, mode: u32) {
    let dir = lab.mkdir(name);
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(mode)).expect("chmod");
}

#[test]
fn a_directory_that_all_may_write_to() {
    let lab = Lab::with_short_path();
    let here = lab.root();
    let entry = here.join("open");
    let entry = entry.to_str().expect("a path in UTF-8");
    app(&lab, entry);
    set_mode(&lab, "open", 0o777);
    let message = |what: &str| {
        [format!(
            "unsafe-search-entry bin/app: DT_RUNPATH entry HERE/open: {what}; no library is found there"
        )]
    };
    assert_eq!(found(&lab, &["p"]), message("every user may write to it"));
    // The sticky bit protects existing files, but the directory of the entry stays open to every
    // user.
    set_mode(&lab, "open", 0o1777);
    assert_eq!(found(&lab, &["p"]), message("every user may write to it"));
    set_mode(&lab, "open", 0o755);
    assert_eq!(found(&lab, &["p"]), [""; 0]);
}

#[test]
fn a_directory_that_all_can_make() {
    let lab = Lab::with_short_path();
    let here = lab.root();
    set_mode(&lab, "open", 0o1777);
    let entry = here.join("open/lib");
    app(&lab, entry.to_str().expect("a path in UTF-8"));
    let expected = "unsafe-search-entry bin/app: DT_RUNPATH entry HERE/open/lib: \
                    every user may write to HERE/open; no library is found there";
    assert_eq!(found(&lab, &["p"]), [expected]);
    // Once it exists, the sticky bit protects it.
    set_mode(&lab, "open/lib", 0o755);
    assert_eq!(found(&lab, &["p"]), [""; 0]);
    set_mode(&lab, "open", 0o777);
    assert_eq!(found(&lab, &["p"]), [expected]);
}

/// A user who replaces a link on the path decides where it leads, although both ends are safe.
#[test]
fn a_link_in_a_directory_that_all_may_write_to() {
    let lab = Lab::with_short_path();
    lab.mkdir("real/lib");
    set_mode(&lab, "open", 0o777);
    for (target, link) in
        [("../real", "open/current"), ("open/current/lib", "deps"), ("open/none", "gone")]
    {
        std::os::unix::fs::symlink(target, lab.path(link)).expect("a link");
    }
    let here = lab.root().display().to_string();
    app(&lab, &format!("{here}/deps:{here}/gone:{here}/real/../deps/.:{here}/real/lib"));
    let all = |entry: &str| {
        format!(
            "unsafe-search-entry bin/app: DT_RUNPATH entry HERE/{entry}: \
             every user may write to HERE/open; no library is found there"
        )
    };
    let mut expected = vec![all("deps"), all("gone"), all("real/../deps/.")];
    expected.sort();
    let mut said = found(&lab, &["p"]);
    said.sort();
    assert_eq!(said, expected);
    // The sticky bit protects the existing link, but every user may make the missing one.
    set_mode(&lab, "open", 0o1777);
    assert_eq!(found(&lab, &["p"]), [all("gone")]);
}

#[test]
fn what_is_found_there_is_named() {
    let lab = Lab::new();
    set_mode(&lab, "open", 0o777);
    lab.so("open/libfoo.so", "int foo(void) { return 1; }", &["-Wl,-soname,libfoo.so"]);
    let entry = lab.path("open");
    let entry = format!("-Wl,-rpath,{}", entry.display());
    let flags = ["-Lopen", "-Wl,--no-as-needed", "-lfoo", &entry];
    lab.exe("p/bin/app", "int foo(void); int main(void) { return foo(); }", &flags);
    let expected = "unsafe-search-entry bin/app: DT_RUNPATH entry HERE/open: every user may write to it; \
                    libfoo.so is found there";
    assert_eq!(found(&lab, &["p"]), [expected]);
}

/// Build roots of distributions and CI systems. A directory with a similar name is another one.
#[test]
fn build_roots_of_distributions_and_ci_systems() {
    let lab = Lab::new();
    let roots = [
        "/__w",
        "/builddir",
        "/builds",
        "/drone/src",
        "/github/workspace",
        "/opt/atlassian/pipelines",
        "/var/jenkins_home",
        "/var/lib/buildkite-agent",
        "/var/lib/jenkins",
    ];
    app(&lab, &format!("{}/x/lib:/builddirs/lib", roots.join("/x/lib:")));
    let dead = "dead-search-entry bin/app: DT_RUNPATH entry /builddirs/lib: no such directory";
    let of_builds = roots.map(|root| {
        format!(
            "unsafe-search-entry bin/app: DT_RUNPATH entry {root}/x/lib: below {root}; \
             no library is found there"
        )
    });
    let expected: Vec<String> = [dead.to_owned()].into_iter().chain(of_builds).collect();
    let mut said = found(&lab, &["p"]);
    said.sort();
    assert_eq!(said, expected);
}

#[test]
fn entries_of_builds_and_of_the_prefix_itself() {
    let lab = Lab::new();
    app(&lab, "/usr/src/lib:/build/x:/nix/build/y:/home/me/lib:$ORIGIN/../none:/usr/srcs");
    let below = |entry: &str, base: &str| {
        format!(
            "unsafe-search-entry bin/app: DT_RUNPATH entry {entry}: below {base}; no library is found there"
        )
    };
    let mut expected = vec![
        "dead-search-entry bin/app: DT_RUNPATH entry $ORIGIN/../none (HERE/p/bin/../none): no such directory".to_owned(),
        "dead-search-entry bin/app: DT_RUNPATH entry /usr/srcs: no such directory".to_owned(),
        below("/build/x", "/build"),
        below("/home/me/lib", "/home"),
        below("/nix/build/y", "/nix/build"),
        below("/usr/src/lib", "/usr/src"),
    ];
    expected.sort();
    let mut said = found(&lab, &["p"]);
    said.sort();
    assert_eq!(said, expected);
    // Under a whitelist no directory outside of the prefix is probed, but the texts of entries are
    // checked.
    let closed = found(&lab, &["p", "--policy", "manylinux_2_28"]);
    assert!(!closed.iter().any(|line| line.contains("/usr/srcs")), "{closed:#?}");
    assert!(closed.iter().any(|line| line.contains("/build/x")), "{closed:#?}");
}

/// A gate in the directory of a build finds paths into that directory. `/dev/shm` is below none of
/// the known build directories.
#[test]
fn entries_below_the_current_directory() {
    let name = format!("/dev/shm/linkaudit-test-{}", std::process::id());
    let build = Path::new(&name);
    let made =
        ["lib", "stage/bin", "stage/own"].map(|dir| std::fs::create_dir_all(build.join(dir)));
    if made.iter().any(Result::is_err) {
        return support::skip("entries_below_the_current_directory", "/dev/shm is not writable");
    }
    let lab = Lab::new();
    lab.exe("app", MAIN, &[&format!("-Wl,-rpath,{name}/lib:{name}/stage/own:/usr/lib")]);
    std::fs::copy(lab.path("app"), build.join("stage/bin/app")).expect("a copy");
    let said = |cwd: &str, args: &[&str]| {
        let mut linkaudit = support::linkaudit();
        linkaudit.args(args).args(["--format", "json", "-A", "undecided"]);
        let run = linkaudit.current_dir(build.join(cwd)).output().expect("linkaudit runs");
        let report: Value = support::whole(&run.stdout);
        let messages = findings(&report).iter().filter_map(|finding| finding["message"].as_str());
        messages
            .filter(|message| message.contains("current directory"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let found = [
        said("", &["stage"]),
        said("", &["stage", "--cwd", "/"]),
        said("stage", &["."]),
        said("stage/bin", &["--prefix", "..", "app"]),
    ];
    std::fs::remove_dir_all(build).expect("removed");
    let expected = format!(
        "DT_RUNPATH entry {name}/lib: below the current directory; no library is found there"
    );
    assert_eq!(found, [vec![expected], vec![], vec![], vec![]]);
}

#[test]
fn the_current_directory_by_another_name() {
    let lab = Lab::new();
    app(&lab, "/proc/self/cwd/lib:/proc/thread-self/cwd");
    let mut said = found(&lab, &["p"]);
    said.sort();
    let expected = ["/proc/self/cwd/lib", "/proc/thread-self/cwd"].map(|entry| {
        format!(
            "unsafe-search-entry bin/app: DT_RUNPATH entry {entry}: relative to the current directory; \
             no library is found there"
        )
    });
    assert_eq!(said, expected);
}

/// The loader reads names of tokens greedily: `$ORIGINAL` is a directory of that name below the
/// current directory.
#[test]
fn names_that_only_begin_with_origin() {
    let lab = Lab::new();
    let entries = ["$ORIGINAL/lib", "$ORIGINlib", "$ORIGIN_64", "${ORIGINAL}/lib"];
    app(&lab, &format!("{}:$ORIGIN:${{ORIGIN}}/.", entries.join(":")));
    let mut expected = entries.map(|entry| {
        format!(
            "unsafe-search-entry bin/app: DT_RUNPATH entry {entry}: relative to the current directory; \
             no library is found there"
        )
    });
    expected.sort();
    let mut said = found(&lab, &["p"]);
    said.sort();
    assert_eq!(said, expected);
}

/// Entries that leave the prefix by `..` or by a link. `/dev/shm` is below none of the known build
/// directories.
#[test]
fn entries_that_lead_out_of_the_prefix() {
    let name = format!("/dev/shm/linkaudit-dots-{}", std::process::id());
    let prefix = Path::new(&name);
    let made = ["bin", "lib"].map(|dir| std::fs::create_dir_all(prefix.join(dir)));
    if made.iter().any(Result::is_err) {
        return support::skip("entries_that_lead_out_of_the_prefix", "/dev/shm is not writable");
    }
    // A link back into the prefix, in a directory of builds.
    let back = format!("/var/tmp/linkaudit-dots-{}", std::process::id());
    let lib = format!("{name}/lib");
    let links = [("/home", "out"), ("lib", "in"), (&*back, "round"), (&*lib, &*back)];
    for (target, link) in links {
        std::os::unix::fs::symlink(target, prefix.join(link)).expect("a link");
    }
    let lab = Lab::new();
    let entries = [
        "/usr/../build/x",
        &format!("{name}/lib/../../../../build/x"),
        &format!("{name}/out"),
        "$ORIGIN/../out",
        "$ORIGIN/../../../../build/x",
        &format!("{name}/lib/../lib"),
        &format!("{name}/in"),
        "$ORIGIN/../bin/../in",
        "$ORIGIN/../round",
    ]
    .join(":");
    lab.exe("app", MAIN, &[&format!("-Wl,-rpath,{entries}")]);
    std::fs::copy(lab.path("app"), prefix.join("bin/app")).expect("a copy");
    let mut said = found(&lab, &[&name, "--cwd", "/"]);
    std::fs::remove_dir_all(prefix).expect("removed");
    std::fs::remove_file(&back).expect("removed");
    let unsafe_entry = |entry: &str, reason: &str| {
        format!(
            "unsafe-search-entry bin/app: DT_RUNPATH entry {entry}: {reason}; no library is found there"
        )
    };
    let origin = format!("{name}/bin");
    let mut expected = vec![
        unsafe_entry("/usr/../build/x", "below /build"),
        unsafe_entry(&format!("{name}/lib/../../../../build/x"), "below /build"),
        unsafe_entry(&format!("{name}/out"), "leads to /home, below /home"),
        unsafe_entry(&format!("$ORIGIN/../out ({origin}/../out)"), "leads to /home, below /home"),
        unsafe_entry(
            &format!("$ORIGIN/../../../../build/x ({origin}/../../../../build/x)"),
            "below /build",
        ),
        unsafe_entry(
            &format!("$ORIGIN/../round ({origin}/../round)"),
            &format!("leads to {back}, below /var/tmp"),
        ),
    ];
    said.sort();
    expected.sort();
    assert_eq!(said, expected);
}

/// The loader takes the library from the last of three entries: from none of the others, although
/// one is empty, and one is a directory above.
#[test]
fn a_library_is_found_through_one_entry() {
    let lab = Lab::with_short_path();
    for dir in ["open", "open/lib"] {
        set_mode(&lab, dir, 0o777);
    }
    lab.so("open/lib/libfoo.so", "int foo(void) { return 0; }", &["-Wl,-soname,libfoo.so"]);
    let open = lab.path("open").display().to_string();
    let entries = format!("-Wl,-rpath,:{open}:{open}/lib");
    let flags = ["-Lopen/lib", "-Wl,--no-as-needed", "-lfoo", &entries];
    lab.exe("p/bin/app", "int foo(void); int main(void) { return foo(); }", &flags);
    let mut said = found(&lab, &["p"]);
    said.sort();
    let mut expected = [
        ("has an empty entry: the current directory", "no library"),
        ("entry HERE/open: every user may write to it", "no library"),
        ("entry HERE/open/lib: every user may write to it", "libfoo.so"),
    ]
    .map(|(what, library)| {
        format!("unsafe-search-entry bin/app: DT_RUNPATH {what}; {library} is found there")
    });
    expected.sort();
    assert_eq!(said, expected);
}

/// The first program finds the library through its own path, and only the second one through the
/// entry.
#[test]
fn a_library_is_found_by_the_second_program() {
    let lab = Lab::new();
    set_mode(&lab, "open", 0o777);
    let foo = "int foo(void) { return 1; }";
    lab.so("open/libfoo.so", foo, &["-Wl,-soname,libfoo.so"]);
    lab.so("p/lib/libfoo.so", foo, &["-Wl,-soname,libfoo.so"]);
    let entry = format!("-Wl,-rpath,{}", lab.path("open").display());
    let flags = ["-Wl,--no-as-needed", "p/lib/libfoo.so", "-Wl,-soname,libx.so", &entry];
    lab.so("p/lib/libx.so", "int x(void) { return 1; }", &flags);
    let path = ["-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN/../lib", "p/lib/libx.so"];
    lab.exe("p/bin/b", MAIN, &path);
    let expected = "unsafe-search-entry lib/libx.so: DT_RUNPATH entry HERE/open: \
                    every user may write to it; libfoo.so is found there";
    assert_eq!(found(&lab, &["p"]), [expected]);
    lab.exe("p/bin/a", MAIN, &[&path[..], &["p/lib/libfoo.so"]].concat());
    assert!(lab.ldd_r("p/bin/a").contains("p/bin/../lib/libfoo.so"));
    assert!(lab.ldd_r("p/bin/b").contains("open/libfoo.so"));
    assert_eq!(found(&lab, &["p"]), [expected]);
}

/// An entry is in use if it leads to a directory from one of the paths by which the library is
/// loaded.
#[test]
fn entries_of_a_library_with_several_origins() {
    let lab = Lab::new();
    lab.so("p/lib/libf.so", "int f(void) { return 1; }", &["-Wl,-rpath,$ORIGIN/../x"]);
    lab.mkdir("p/y/x");
    lab.mkdir("p/y/lib");
    std::os::unix::fs::symlink("../../lib/libf.so", lab.path("p/y/lib/libf.so")).expect("a link");
    let link = lab.path("p/y/lib/libf.so").display().to_string();
    let flags = ["-Wl,--no-as-needed", &link, "-Wl,-rpath,$ORIGIN/../y/lib"];
    let dead = |found: &[String]| found.iter().filter(|line| line.starts_with("dead")).count();
    assert_eq!(dead(&found(&lab, &["p"])), 1);
    lab.exe("p/bin/app", "int f(void); int main(void) { return f(); }", &flags);
    assert_eq!(dead(&found(&lab, &["p"])), 0);
    let both = ["p/lib/libf.so", "p/bin/app"];
    assert_eq!(dead(&found(&lab, &both)), 0);
}

/// One option answers for all files whose libraries depend on the current directory: one cause.
#[test]
fn one_cause_for_one_option() {
    let lab = Lab::new();
    lab.so("p/lib/libf.so", "int f(void) { return 1; }", &["-Wl,-soname,libf.so"]);
    let flags = ["-Wl,--no-as-needed", "p/lib/libf.so", "-Wl,-rpath,lib:$ORIGIN/../lib"];
    for name in ["a", "b", "c"] {
        lab.exe(&format!("p/bin/{name}"), MAIN, &flags);
    }
    let run = |args: &[&str]| {
        let mut linkaudit = support::linkaudit();
        linkaudit.current_dir(lab.root()).args(["p", "-A", "unsafe-search-entry"]).args(args);
        linkaudit.output().expect("linkaudit runs").stdout
    };
    let causes = |args: &[&str]| {
        let report: Value = support::whole(&run(&[args, &["--format", "json"]].concat()));
        let causes = report["causes"].as_array().expect("causes").iter();
        causes.map(|cause| (cause["id"].clone(), cause["findings"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(causes(&[]), [("missing-option:--cwd".into(), 3.into())]);
    assert_eq!(causes(&["--cwd", "/"]), []);
    let text = String::from_utf8(run(&[])).expect("text");
    let entry = "incomplete[undecided] 3 files: the libraries depend on the current directory; \
        set it with --cwd\n  in         bin/a, bin/b, bin/c\n";
    assert!(text.contains(entry), "{text}");
}
