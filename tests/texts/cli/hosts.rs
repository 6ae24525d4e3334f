//! `--host` and `[[host]]` entries with a program: the objects that become plugins, their findings,
//! and errors that are refused. `hosts` compares the bindings of plugins with the real loader.

use super::kit::{Run, findings, of_rule, only, report, run, summary, text};
use crate::support::Lab;
use serde_json::Value;

const HOST: &str = "int host(void) { return 1; } int main(void) { return 0; }";
const PLUGIN: &str = "int host(void); int plugin(void) { return host(); }";
const LIBRARY: &str = "int host(void); int nobody(void); int q(void) { return host() + nobody(); }";

/// A program that exports `host`, one that does not, and a plugin with a library of its own.
fn plugins() -> Lab {
    let lab = Lab::new();
    lab.exe("bin/app", HOST, &["-rdynamic"]);
    lab.exe("bin/mute", HOST, &[]);
    lab.so("lib/libq.so", LIBRARY, &["-Wl,-soname,libq.so"]);
    let flags = ["-Wl,--no-as-needed", "-Llib", "-lq", "-Wl,-rpath,$ORIGIN"];
    lab.so("lib/plug.so", PLUGIN, &flags);
    lab
}

fn strings(list: &Value, key: &str) -> Vec<String> {
    let list = list.as_array().expect("a list");
    list.iter().filter_map(|item| item[key].as_str()).map(str::to_owned).collect()
}

/// Hops of the chain, each as `how name`.
fn chain(finding: &Value) -> Vec<String> {
    let list = finding["evidence"].as_array().expect("evidence");
    let hops = list.iter().filter(|evidence| evidence["kind"] == "chain");
    let name = |hop: &Value| text(&hop["path"]).rsplit('/').next().unwrap_or_default().to_owned();
    hops.map(|hop| format!("{} {}", text(&hop["how"]), name(hop))).collect()
}

#[test]
fn a_plugin_is_judged_under_its_host() {
    let lab = plugins();
    let alone = report(&lab, &["lib"]);
    assert_eq!(
        summary(&alone),
        ["undefined-symbol libq.so"; 2]
            .iter()
            .chain(&["undefined-symbol plug.so"])
            .copied()
            .collect::<Vec<_>>()
    );
    for host in ["bin/app", "bin/app=*.so", "bin/app=**/p*.so"] {
        let hosted = report(&lab, &["--host", host, "lib"]);
        let finding = only(&hosted, "undefined-symbol");
        assert_eq!(finding["symbol"], "nobody", "{host}");
        if host != "bin/app=*.so" {
            assert_eq!(chain(finding), ["host app", "dlopen plug.so", "runpath libq.so"]);
        }
        let evidence = finding["evidence"].as_array().expect("evidence");
        let roots: Vec<&Value> = evidence.iter().filter(|e| e["kind"] == "root").collect();
        let host = roots.last().expect("the host");
        assert!(host["how"] == "host" && text(&host["path"]).ends_with("/bin/app"), "{host}");
        assert!(text(&finding["root"]).contains("/lib/"), "the root is the plugin");
    }
    let said = run(&lab, &["--host", "bin/app", "lib"]).out;
    assert!(said.contains("bin/app > ") && !said.contains("affects"), "{said}");
}

#[test]
fn a_plugin_under_two_hosts_is_two_roots() {
    let lab = plugins();
    let report = report(&lab, &["--host", "bin/app=plug.so", "--host", "bin/mute=plug.so", "lib"]);
    assert_eq!(report["totals"]["roots"], 4);
    let undefined = of_rule(&report, "undefined-symbol");
    let of = |symbol: &str| undefined.iter().filter(|f| f["symbol"] == symbol).copied().collect();
    let (host, nobody): (Vec<&Value>, Vec<&Value>) = (of("host"), of("nobody"));
    assert_eq!((host.len(), nobody.len()), (2, 1));
    for finding in host {
        assert_eq!(chain(finding)[0], "host mute");
    }
    let hosts = nobody[0]["evidence"].as_array().expect("evidence");
    assert_eq!(hosts.iter().filter(|e| e["kind"] == "root" && e["how"] == "host").count(), 2);
}

#[test]
fn what_something_else_needs_is_no_plugin_unless_a_glob_says_so() {
    let lab = plugins();
    lab.exe("other/app", "int q(void); int main(void) { return q(); }", &["lib/libq.so"]);
    let tree = |host: &str| {
        let out = run(&lab, &["tree", "--format", "json", "--host", host, "lib", "other"]).out;
        let tree: Value = serde_json::from_str(&out).expect("a tree");
        let roots = tree["roots"].as_array().expect("roots").iter();
        let hosted = roots.filter(|root| root["host"].is_string());
        let name =
            |root: &Value| text(&root["path"]).rsplit('/').next().unwrap_or_default().to_owned();
        hosted.map(name).collect::<Vec<String>>()
    };
    assert_eq!(tree("bin/app"), ["plug.so"]);
    assert_eq!(tree("bin/app=*q.so"), ["libq.so"]);
    assert_eq!(tree("bin/app=**"), ["libq.so", "plug.so"]);
}

#[test]
fn what_no_root_loads_any_more_is_a_root_itself() {
    let lab = plugins();
    lab.so("far/libq.so", "int q(void) { return 1; }", &["-Wl,-soname,libq.so"]);
    let source = "int q(void); int host(void) { return q(); } int main(void) { return 0; }";
    let flags = ["-rdynamic", "-Wl,--no-as-needed", "far/libq.so", "-Wl,-rpath,$ORIGIN/../far"];
    lab.exe("bin/app", source, &flags);
    // The host has loaded another libq.so; no object loads the plugin's own.
    let report = report(&lab, &["--host", "bin/app", "lib"]);
    assert_eq!(summary(&report), ["undefined-symbol libq.so"; 2]);
    assert_eq!(chain(&findings(&report)[0]), [""; 0]);
}

#[test]
fn a_host_without_plugins_is_said() {
    let lab = plugins();
    lab.exe("empty/app", "int main(void) { return 0; }", &[]);
    let cases = [
        ("bin/app=lib/*.so", "lib", "no shared object matches its --host GLOB lib/*.so"),
        ("bin/app=*.sso", "lib", "no shared object matches its --host GLOB *.sso"),
        ("bin/app", "empty", "--host names it, but no shared object is left for it to load"),
    ];
    for (host, path, words) in cases {
        let report = report(&lab, &["-A", "symbol", "--host", host, path]);
        let finding = only(&report, "undecided");
        assert_eq!(finding["message"], words);
        assert!(text(&finding["path"]).ends_with("bin/app"), "{finding}");
        let Run { status, .. } = run(&lab, &["-A", "symbol", "--host", host, path]);
        assert_eq!(status, 3, "{host}");
    }
    let fine = run(&lab, &["-A", "symbol", "--host", "bin/app=*.so", "lib"]);
    assert_eq!(fine.status, 0, "{}", fine.out);
}

#[test]
fn what_cannot_be_a_host_is_refused() {
    let lab = plugins();
    lab.write("bin/script", "#!/bin/sh\n");
    lab.cc("bin/static", "void _start(void) { for (;;); }", &["-static", "-nostdlib"], &[]);
    let cases = [
        ("bin/none", "bin/none: no such file"),
        ("bin/none=*.so", "bin/none: no such file"),
        ("bin", "a directory, not a program"),
        ("bin/script", "not an ELF file"),
        ("bin/static", "a static program"),
        ("bin/app=", "the GLOB is empty"),
        ("bin/app=[", "--host bin/app=["),
    ];
    for (host, words) in cases {
        run(&lab, &["--host", host, "lib"]).refused(&[words]).in_style();
    }
    run(&lab, &["--as-ldd", "--host", "bin/app", "lib"]).refused(&["--as-ldd", "--host"]);
    // A file may have `=` in its name.
    std::fs::copy(lab.path("bin/app"), lab.path("bin/a=b")).expect("a copy");
    assert_eq!(summary(&report(&lab, &["--host", "bin/a=b", "lib"])).len(), 1);
    assert_eq!(summary(&report(&lab, &["--host", "bin/a=b=*.so", "lib"])).len(), 1);
}

#[test]
fn a_plugin_for_another_machine() {
    let lab = plugins();
    lab.so("lib/small.so", "int small(void) { return 1; }", &["-m32", "-nostdlib"]);
    let report_of = |host: &str| report(&lab, &["-A", "symbol", "--host", host, "lib"]);
    assert_eq!(summary(&report_of("bin/app")), [""; 0]);
    let all = report_of("bin/app=*.so");
    let finding = only(&all, "wrong-architecture");
    assert_eq!(finding["path"], "small.so");
    let message = text(&finding["message"]);
    assert!(message.starts_with("is for i386, and its host /"), "{message}");
    assert!(message.ends_with("/bin/app is for x86_64"), "{message}");
}

#[test]
fn a_host_that_does_not_start() {
    let lab = plugins();
    lab.so("far/libz9.so", "int z9(void) { return 1; }", &["-Wl,-soname,libz9.so"]);
    let flags = ["-rdynamic", "-Wl,--no-as-needed", "far/libz9.so", "-Wl,-rpath,$ORIGIN/../far"];
    lab.exe("bin/app", HOST, &flags);
    lab.write(
        "far/libz9.so",
        "GROUP ( libz9.so.1 )                                                   ",
    );
    let report = report(&lab, &["--host", "bin/app", "lib"]);
    assert_eq!(of_rule(&report, "bad-library-file").len(), 1);
    let said = of_rule(&report, "undecided");
    assert_eq!(said[0]["message"], "does not start: 1 plugin not checked");
}

#[test]
fn a_library_that_the_host_lacks_explains() {
    let lab = plugins();
    lab.so("far/libz9.so", "int nobody(void) { return 1; }", &["-Wl,-soname,libz9.so"]);
    lab.exe("bin/app", HOST, &["-rdynamic", "-Wl,--no-as-needed", "far/libz9.so"]);
    let report = report(&lab, &["--host", "bin/app", "lib"]);
    let finding = only(&report, "missing-library");
    assert_eq!(
        (&finding["library"], &report["totals"]["explained"]),
        (&"libz9.so".into(), &1.into())
    );
}

#[test]
fn ldd_knows_no_hosts() {
    let lab = plugins();
    let with = run(&lab, &["--format", "ldd", "--host", "bin/app", "lib"]);
    let without = run(&lab, &["--format", "ldd", "lib"]);
    assert!(with.out.contains("undefined symbol: host"), "{}", with.out);
    assert_eq!(with.out, without.out);
}

#[test]
fn tree_and_why_name_the_host() {
    let lab = plugins();
    let tree = run(&lab, &["tree", "--host", "bin/app", "lib"]).out;
    let heading = format!(
        "{}  opened by {}",
        lab.path("lib/plug.so").display(),
        lab.path("bin/app").display()
    );
    assert!(tree.contains(&heading), "{tree}");
    let why = run(&lab, &["why", "--host", "bin/app", "host", "lib"]).out;
    let named = format!("plug.so opened by {}", lab.path("bin/app").display());
    assert!(why.contains(&named), "{why}");
    assert!(why.contains("referred to by 2 files; 1 definition"), "{why}");
    let library = run(&lab, &["why", "--host", "bin/app", "libq.so", "lib"]).out;
    assert!(library.contains("bin/app"), "{library}");
}

#[test]
fn policies_name_programs_of_the_prefix() {
    let lab = plugins();
    let policy = "schema = 1\n[[host]]\nname = \"app\"\nplugins = [\"lib/p*.so\"]\nexecutable = \"bin/app\"\n";
    lab.write("policy.toml", policy);
    let by_path = report(&lab, &["--policy", "policy.toml", "."]);
    assert_eq!(only(&by_path, "undefined-symbol")["symbol"], "nobody");
    let policy = policy.replace("plugins = [\"lib/p*.so\"]", "exports = [\"plug*\"]");
    lab.write("policy.toml", &policy);
    let by_name = report(&lab, &["--policy", "policy.toml", "."]);
    assert_eq!(only(&by_name, "undefined-symbol")["symbol"], "nobody");
    // If the program is missing or is a script, the plugin is audited alone.
    for program in ["bin/none", "bin/script"] {
        lab.write("bin/script", "#!/bin/sh\n");
        lab.write("policy.toml", policy.replace("bin/app", program));
        let alone = report(&lab, &["--policy", "policy.toml", "."]);
        assert_eq!(strings(&alone["findings"], "symbol"), ["host", "nobody", "host"], "{program}");
    }
    lab.write("policy.toml", &policy);
    let other = report(&lab, &["--policy", "policy.toml", "lib"]);
    assert_eq!(summary(&other).len(), 3, "the program is not in this prefix");
}
