//! Outputs never overwrite inputs: an output that is an input of the run, or is below one, is
//! refused before the run. So are two outputs to one file.

use super::kit::{Run, fifo, run, three_trees};
use crate::support::Lab;
use std::path::Path;

/// Trees, archives and lists, with other names for some of them.
fn lab() -> Lab {
    let lab = three_trees();
    for name in ["l.a", "m.a", "places/p.a"] {
        lab.write(name, "!<arch>\n");
    }
    lab.write("script.a", "INPUT(m.a)");
    lab.write("outer.a", "INPUT(script.a)");
    lab.write("libs/libq.so", "GROUP(-lp)");
    lab.write("libs/libp.a", "!<arch>\n");
    lab.write("named/libn.so", format!("INPUT({})", lab.path("script.a").display()));
    lab.write("line", "l.a --linker gnu --why-extract line");
    lab.write("lines", "@line");
    lab.write("list", "broken/libbroken.so\nnosuch\n");
    lab.write("policy.toml", "schema = 1\n");
    lab.write("linkaudit.toml", "schema = 1\n");
    lab.write("extends.toml", "schema = 1\nextends = [\"policy.toml\"]\n");
    let platform = "[{\"name\": \"tiny\", \"aliases\": [], \"priority\": 1, \"lib_whitelist\": [], \
                    \"symbol_versions\": {\"x86_64\": {}}, \"blacklist\": {}}]";
    lab.write("tiny.json", platform);
    lab.write("report.json", run(&lab, &["fine", "--isolated", "--format", "json"]).out);
    lab.write("known", "");
    lab.write("deps.cmake", "set(parts\nl\n)\n");
    let merged = "schema = 1\n[[archive]]\nmatch = \"**/l.a\"\ndeps-list = \"deps.cmake\"\n";
    lab.write("merged.toml", merged);
    lab.link("broken/libbroken.so", "link.so");
    lab.link("broken", "linked");
    lab.mkdir("broken/sub");
    lab.exe("host", "int main(void) { return 0; }", &[]);
    let other = std::fs::hard_link(lab.path("broken/libbroken.so"), lab.path("other-name.so"));
    other.expect("a second name");
    fifo(&lab, "pipe");
    lab
}

/// Every file below the laboratory with its bytes.
fn state(dir: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let entry = entry.expect("an entry");
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            all.extend(state(&entry.path()));
        } else if kind.is_file() {
            all.push((entry.path(), std::fs::read(entry.path()).expect("a file")));
        }
    }
    all.sort();
    all
}

#[test]
fn no_output_goes_over_what_is_read() {
    let lab = lab();
    let asked = ["archive", "l.a", "--root-symbol", "x"];
    let order = |more: [&'static str; 2]| [&asked[..], &["--order", "m.a"], &more[..]].concat();
    let cases: Vec<(Vec<&str>, &str)> = vec![
        (vec!["broken/libbroken.so", "-o", "human=broken/libbroken.so"], "this run audits it\n"),
        (vec!["broken/libbroken.so", "-o", "human=other-name.so"], "this run audits it\n"),
        (vec!["broken/libbroken.so", "-o", "human=link.so"], "this run audits it\n"),
        (vec!["link.so", "-o", "human=broken/libbroken.so"], "this run audits it\n"),
        (vec!["broken", "-o", "json=broken/report"], "this run audits its directory"),
        (vec!["broken", "-o", "json=linked/sub/report"], "this run audits its directory"),
        (vec!["linked", "-o", "json=broken/sub/report"], "this run audits its directory"),
        (vec!["broken", "-o", "json=fine/../broken/report"], "this run audits its directory"),
        (vec!["broken", "--write-baseline", "broken/known"], "this run audits its directory"),
        (vec!["--files-from", "list", "-o", "json=broken/libbroken.so"], "this run audits it\n"),
        (vec!["--files-from", "list", "-o", "json=list"], "this run reads it"),
        (vec!["--staged", "fine", "--replaces", "list", "-o", "json=list"], "this run reads it"),
        (vec!["fine", "--policy", "policy.toml", "-o", "json=policy.toml"], "this run reads it"),
        (vec!["fine", "-o", "json=linkaudit.toml"], "this run reads it"),
        (vec!["fine", "--policy", "extends.toml", "-o", "json=policy.toml"], "this run reads it"),
        (
            vec!["fine", "--policy", "tiny.json#tiny_x86_64", "-o", "json=tiny.json"],
            "this run reads it",
        ),
        (vec!["diff", "report.json", "report.json", "-o", "json=report.json"], "this run reads it"),
        (
            vec!["diff", "report.json", "report.json", "-o", "json=linkaudit.toml"],
            "this run reads it",
        ),
        (vec!["fine", "--baseline", "known", "-o", "json=known"], "this run reads it"),
        (vec!["fine", "--policy", "merged.toml", "-o", "json=deps.cmake"], "this run reads it"),
        (
            vec!["fix", "fine", "--policy", "merged.toml", "-o", "ldflags=deps.cmake"],
            "this run reads it",
        ),
        (
            vec!["fix", "fine", "--deps-list", "deps.cmake", "-o", "json=deps.cmake"],
            "this run reads it",
        ),
        (vec!["fine", "--lib-path", "places", "-o", "json=places/x"], "for archives"),
        (vec!["fine", "--host", "host", "-o", "json=host"], "this run audits it\n"),
        (vec!["tree", "broken", "-o", "dot=broken/x"], "this run audits its directory"),
        (vec!["why", "foo", "broken", "-o", "json=broken/x"], "this run audits its directory"),
        (vec!["fix", "broken", "-o", "json=broken/x"], "this run audits its directory"),
        (vec!["fix", "broken", "-o", "ldflags=broken/x"], "this run audits its directory"),
        (vec!["fix", "fine", "--archive", "m.a", "-o", "mri=m.a"], "for archives"),
        (
            vec!["fix", "fine", "--lib-path", "places", "-o", "json=places/x"],
            "this run searches its directory",
        ),
        ([&asked[..], &["-o", "json=l.a"]].concat(), "this run audits it\n"),
        (
            [&asked[..], &["--from", "places", "-o", "json=places/x"]].concat(),
            "this run searches its directory",
        ),
        (order(["--why-extract", "m.a"]), "this run audits it\n"),
        (order(["--archive-stats", "m.a"]), "this run audits it\n"),
        (order(["--archive-stats", "l.a"]), "this run audits it\n"),
        (
            vec!["archive", "script.a", "--root-symbol", "x", "-o", "json=script.a"],
            "this run audits it\n",
        ),
        (
            vec!["archive", "script.a", "--root-symbol", "x", "-o", "json=m.a"],
            "this run audits it\n",
        ),
        (
            [&asked[..], &["--order", "outer.a", "--why-extract", "script.a"]].concat(),
            "this run reads it",
        ),
        (
            vec!["archive", "outer.a", "--root-symbol", "x", "-o", "json=script.a"],
            "this run reads it",
        ),
        (
            [&asked[..], &["-L", "libs", "-lq", "--why-extract", "libs/libq.so"]].concat(),
            "this run reads it",
        ),
        ([&asked[..], &["--from", "named", "-o", "json=script.a"]].concat(), "this run reads it"),
        (vec!["archive", "@line"], "this run reads it"),
        (vec!["archive", "@lines"], "this run reads it"),
        (vec!["archive", "@lines", "--archive-stats", "lines"], "this run reads it"),
        (vec!["fine", "-o", "json=r", "-o", "human=./r"], "the same file"),
        (
            vec!["fine", "-o", "json=r", "--write-baseline", "r"],
            "r: two outputs write to this file",
        ),
        (vec!["fine", "-o", "json=r", "-o", "sarif=r"], "r: two outputs write to this file"),
        (vec!["fine", "-o", "json=link.so", "-o", "human=other-name.so"], "the same file"),
        (
            [&order(["--why-extract", "t"])[..], &["--archive-stats", "t"]].concat(),
            "t: two outputs",
        ),
    ];
    let before = state(&lab.root());
    for (args, words) in &cases {
        run(&lab, args).refused(&[words]).in_style();
        assert!(state(&lab.root()) == before, "{args:?} changed a file");
    }
    println!("{} outputs over what is read: all refused, nothing changed", cases.len());
}

#[test]
fn stdout_is_an_output_too() {
    let lab = three_trees();
    let log = std::fs::File::create(lab.path("log")).expect("a file");
    let mut command = crate::support::linkaudit();
    command.current_dir(lab.root()).args(["fine", "-o", "json=log"]).stdout(log);
    let run = Run::new(&command.output().expect("linkaudit runs"));
    run.refused(&["stdout goes to the same file"]).in_style();
}

#[test]
fn what_is_beside_may_be_written() {
    let lab = lab();
    lab.write("elsewhere", "");
    lab.link("elsewhere", "report.txt");
    let cases: &[&[&str]] = &[
        &["fine", "-o", "json=fine.json", "-o", "human=/dev/null", "-o", "table=/dev/null"],
        &["fine", "-o", "json=odd/fine.json"],
        &["fine", "-o", "json=report.txt"],
        &["fine", "--write-baseline", "known"],
        &["fine", "--baseline", "known", "--write-baseline", "known"],
        &["fine/libfine.so", "-o", "json=fine/report"],
        &["archive", "l.a", "--all-members", "--from", "places", "-o", "json=members"],
    ];
    for args in cases {
        let run = run(&lab, args);
        assert_eq!(run.status, 0, "{args:?}: {}", run.err);
    }
}
