//! `linkaudit diff`: what its findings say about one changed file, and in each output.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::Lab;
use serde_json::Value;

fn diff(lab: &Lab, options: &[&str]) -> (Value, Option<i32>) {
    let output = lab.linkaudit(&[&["diff", "old", "new", "--format", "json"], options].concat());
    let value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
    (value, output.status.code())
}

/// `rule level path: message` of each finding.
fn said(value: &Value) -> Vec<String> {
    let findings = value["findings"].as_array().expect("findings");
    let word = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let line = |f: &Value| {
        let [rule, level, path, message] = ["rule", "level", "path", "message"].map(|k| word(f, k));
        format!("{rule} {level} {path}: {message}")
    };
    findings.iter().map(line).collect()
}

/// Rules about search paths and links are off: libraries of laboratories have no links.
const OFF: &[&str] = &["-A", "search-path", "-A", "link-hygiene"];

/// Without a policy of the current directory.
fn lines(lab: &Lab) -> Vec<String> {
    said(&diff(lab, &[&["--isolated"], OFF].concat()).0)
}

fn library(lab: &Lab, path: &str, soname: &str, source: &str) {
    lab.so(path, source, &[&*format!("-Wl,-soname,{soname}")]);
}

const ONE: &str = "int one(void) { return 1; }";
const BOTH: &str = "int one(void) { return 1; } int two(void) { return 2; }";

#[test]
fn each_output_names_symbols_that_are_gone_with_the_soname() {
    let lab = Lab::new();
    for (name, source) in [("liba", BOTH), ("libb", ONE)] {
        library(&lab, &format!("old/{name}.so.1"), &format!("{name}.so.1"), BOTH);
        library(&lab, &format!("new/{name}.so.2"), &format!("{name}.so.2"), source);
    }
    let expected = [
        "changed-soname error liba.so.1: soname liba.so.1 became liba.so.2",
        "changed-soname error libb.so.1: soname libb.so.1 became libb.so.2; 1 symbol gone: two",
    ];
    assert_eq!(lines(&lab), expected);
    for format in ["table", "junit", "gcc", "github", "markdown", "human"] {
        let output = lab.linkaudit(&["diff", "old", "new", "--isolated", "--format", format]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("two"), "{format}: {text}");
    }
    let output = lab.linkaudit(&["diff", "old", "new", "--isolated"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains("; 1 symbol gone"), "the line below has the symbols: {text}");
}

#[test]
fn a_waiver_of_one_symbol_accepts_no_other() {
    let lab = Lab::new();
    let all = format!("{BOTH} int three(void) {{ return 3; }} int many[2];");
    library(&lab, "old/libw.so.1", "libw.so.1", &all);
    library(&lab, "new/libw.so.1", "libw.so.1", &format!("{ONE} int many[4];"));
    let user = "int three(void); int main(void) { return three(); }";
    lab.exe("user/app", user, &["$PWD/old/libw.so.1", "-Wl,-rpath,$PWD/new"]);
    let stop = lab.sh("LD_BIND_NOW=1 user/app 2>&1 || true");
    assert!(String::from_utf8_lossy(&stop.stdout).contains("undefined symbol: three"), "{stop:?}");
    let waived = |entries: &[(&str, &str)]| {
        let entry = |(rule, key): &(&str, &str)| {
            format!("[[waive]]\nrule = \"{rule}\"\n{key}\nreason = \"announced\"\n")
        };
        let entries: String = entries.iter().map(entry).collect();
        lab.write("waive.toml", format!("schema = 1\n{entries}"));
        let (value, status) =
            diff(&lab, &[&["--against", "user", "--policy", "waive.toml"], OFF].concat());
        (said(&value), value["waived"].as_u64(), status)
    };
    let changed =
        "changed-symbol warning libw.so.1: 1 symbol changed, no audited file depends on that: many";
    let strings = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let gone = "removed-symbol error libw.so.1: 1 symbol gone, 1 in use: three (used by app)";
    let (found, waivers, status) = waived(&[("removed-symbol", "symbol = \"two\"")]);
    assert_eq!((found, waivers, status), (strings(&[changed, gone]), Some(0), Some(1)));
    let both = [("removed-symbol", "symbol = \"t*\""), ("changed-symbol", "symbol = \"many\"")];
    assert_eq!(waived(&both), (Vec::new(), Some(2), Some(0)));
    let whole = [("removed-symbol", "path = \"libw.so.1\"")];
    assert_eq!(waived(&whole), (strings(&[changed]), Some(1), Some(0)));
}

#[test]
fn another_order_of_search_paths_is_reported_if_another_file_is_found() {
    // Directories with the library on each side, the new order, and the result.
    let cases = [
        (["a b", "a b"], "b:a:c", 1),
        (["a b", "a b"], "a:b:c", 0),
        (["a", "a"], "b:a:c", 0),
        // The library moved to a directory whose order is the same.
        (["a", "c"], "b:a:c", 0),
    ];
    for (directories, order, reported) in cases {
        let lab = Lab::new();
        for ((side, order), directories) in
            [("old", "a:b:c"), ("new", order)].into_iter().zip(directories)
        {
            let directories: Vec<&str> = directories.split(' ').collect();
            for (result, directory) in directories.iter().enumerate() {
                let source = format!("int one(void) {{ return {result}; }}");
                library(&lab, &format!("{side}/{directory}/libo.so.1"), "libo.so.1", &source);
            }
            let path = order.split(':').map(|dir| format!("$ORIGIN/{dir}")).collect::<Vec<_>>();
            let flags = [
                format!("$PWD/{side}/{}/libo.so.1", directories[0]),
                format!("-Wl,-rpath,{}", path.join(":")),
            ];
            let flags = flags.each_ref().map(String::as_str);
            lab.exe(
                &format!("{side}/app"),
                "int one(void); int main(void) { return one(); }",
                &flags,
            );
        }
        let status = |side: &str| lab.sh(&format!("{side}/app || exit $?")).status.code();
        assert_eq!(usize::from(status("old") != status("new")), reported, "{order}");
        let expected = "lost-search-path warning app: $ORIGIN/b is searched before $ORIGIN/a: \
                        another libo.so.1 is found";
        let mut found = lines(&lab);
        found.retain(|line| line.starts_with("lost-search-path"));
        assert_eq!(found, vec![expected; reported], "{directories:?} {order}");
    }
}

/// auditwheel names a library by its hash. Another name is a change only for files that need the
/// old one.
#[test]
fn hashes_of_libraries_in_wheels_do_not_count() {
    let lab = Lab::new();
    let user = "int one(void); int run(void) { return one(); }";
    for (side, hash, source) in [("old", "4da6744b", BOTH), ("new", "0a86184d", ONE)] {
        let name = format!("libt-{hash}.so.6");
        library(&lab, &format!("{side}/p.libs/{name}"), &name, source);
        let flags =
            [format!("$PWD/{side}/p.libs/{name}"), "-Wl,-rpath,$ORIGIN/../p.libs".to_owned()];
        let flags = flags.each_ref().map(String::as_str);
        lab.so(&format!("{side}/p/ext.so"), user, &flags);
        lab.so(&format!("{side}-user/plugin.so"), user, &flags);
    }
    assert_eq!(lines(&lab), [""; 0]);
    let against = |user: &str| {
        let (value, status) = diff(&lab, &[&["--isolated", "--against", user], OFF].concat());
        (said(&value), status)
    };
    assert_eq!(against("new-user"), (Vec::new(), Some(0)));
    let (found, status) = against("old-user");
    assert_eq!(status, Some(1));
    assert!(found[0].starts_with("changed-soname error p.libs/libt-4da6744b.so.6"), "{found:?}");
}

#[test]
fn outputs_for_people_name_both_sides_and_findings_that_stay() {
    let lab = Lab::new();
    for side in ["old", "new"] {
        let source = "int gone(void); int run(void) { return gone(); }";
        library(&lab, &format!("{side}/libs.so.1"), "libs.so.1", source);
    }
    for (format, names) in
        [("human", "old -> new"), ("table", "old -> new"), ("markdown", "`old` -> `new`")]
    {
        let options = ["diff", "old", "new", "--isolated", "--format", format];
        let output = lab.linkaudit(&[&options, OFF].concat());
        let text = String::from_utf8_lossy(&output.stdout);
        for part in [names, "nothing became worse", "0 new, 0 fixed, 1 unchanged finding"] {
            assert!(text.contains(part), "{format}: no {part:?} in {text}");
        }
        assert!(!text.contains("no findings") && !text.contains("nothing wrong"), "{text}");
    }
}

/// One program has two names (hard links). The first in byte order is the path of its file.
#[test]
fn a_program_is_compared_under_each_of_its_names() {
    let lab = Lab::new();
    let main = "int main(void) { return 0; }";
    let api = format!("int api(void) {{ return 0; }} {main}");
    let flags = ["-rdynamic", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../lib"];
    lab.exe("old/bin/app", &api, &flags);
    let plugin = "int api(void); int run(void) { return api(); }";
    lab.so("old/lib/plug.so", plugin, &[]);
    lab.exe("copy/app", main, &["-rdynamic"]);
    lab.sh(
        "ln old/bin/app old/bin/a-tool; mkdir new new/bin; cp -r old/lib new; cp copy/app new/bin",
    );
    let gone = "removed-symbol error bin/app: 1 symbol gone, 1 in use: api (used by plug.so)";
    let path = "lost-search-path warning bin/app: $ORIGIN/../lib is no longer in its RUNPATH";
    // One name is gone.
    let found = lines(&lab);
    for start in [path, gone, "removed-library error bin/a-tool: gone"] {
        assert!(found.iter().any(|own| own.starts_with(start)), "{start}: {found:?}");
    }
    // Both names are programs of their own now.
    lab.sh("cp old/bin/a-tool new/bin");
    let found = lines(&lab);
    assert!(found.iter().any(|own| own == path), "{found:?}");
    assert!(!found.iter().any(|own| own.contains("a-tool")), "{found:?}");
    // Nothing changes if the names become files with the same content.
    lab.sh("cp old/bin/a-tool new/bin/app");
    assert_eq!(lines(&lab), [""; 0]);
}

/// A library for another ELF class by mistake: only the header of the file differs.
#[test]
fn a_library_for_another_machine_is_gone_for_its_users() {
    let lab = Lab::new();
    library(&lab, "old/libm9.so.1", "libm9.so.1", ONE);
    let flags = ["$PWD/old/libm9.so.1", "-Wl,-rpath,$PWD/new"];
    lab.exe("user/app", "int one(void); int main(void) { return one() != 1; }", &flags);
    let mut bytes = std::fs::read(lab.path("old/libm9.so.1")).expect("the library");
    lab.write("new/libm9.so.1", &bytes);
    assert!(lab.sh("user/app").status.success());
    // e_machine: EM_AARCH64
    bytes[18] = 183;
    lab.write("new/libm9.so.1", &bytes);
    let stop = lab.sh("user/app 2>&1 || true");
    let stop = String::from_utf8_lossy(&stop.stdout).into_owned();
    assert!(stop.contains("cannot open shared object file"), "{stop}");
    let against = ["--isolated", "--against", "user"];
    let (value, status) = diff(&lab, &[&against, OFF].concat());
    let line = "removed-library error libm9.so.1: for aarch64 now, for x86_64 before";
    assert_eq!((said(&value), status), (vec![line.to_owned()], Some(1)));
    let user = value["findings"][0]["evidence"][1]["path"].as_str().expect("the user");
    assert!(user.ends_with("user/app"), "{user}");
    let (value, status) = diff(&lab, &[&against, OFF, &["-A", "removed-library"]].concat());
    assert_eq!((said(&value), status), (Vec::new(), Some(0)));
    // A waiver of the other machine accepts the other symbols too.
    library(&lab, "old/libm9.so.1", "libm9.so.1", BOTH);
    let waiver = "schema = 1\n[[waive]]\nrule = \"removed-library\"\npath = \"libm9.so.1\"\n\
                  reason = \"announced\"\n";
    lab.write("waive.toml", waiver);
    let (value, status) = diff(&lab, &[&["--policy", "waive.toml"], OFF].concat());
    assert_eq!((said(&value), &value["waived"], status), (Vec::new(), &1.into(), Some(0)));
}

/// A waiver may name each hard link of a file, as in an audit. A symbolic link is another path.
#[test]
fn a_waiver_may_name_a_further_hard_link() {
    let policy = "schema = 1\n[[waive]]\nrule = \"removed-symbol\"\npath = \"libx.so.1\"\n\
                  reason = \"announced\"\n";
    for (link, waived) in [("ln", 1), ("ln -s", 0)] {
        let lab = Lab::new();
        for (side, source) in [("old", BOTH), ("new", ONE)] {
            library(&lab, &format!("{side}/libh.so.1"), "libh.so.1", source);
            lab.sh(&format!("cd {side} && {link} libh.so.1 libx.so.1"));
        }
        lab.write("waive.toml", policy);
        let (value, _) = diff(&lab, &[&["--policy", "waive.toml"], OFF].concat());
        assert_eq!((said(&value).len(), &value["waived"]), (1 - waived, &waived.into()), "{link}");
    }
}

/// A hidden version is reported for the first version of a library too: loaders still bind
/// references without a version, but linkers and dlsym do not find the symbol.
#[test]
fn a_symbol_that_loses_its_default_version_is_changed() {
    let lab = Lab::new();
    lab.write("v.map", "V1 { global: f; g; local: *; }; V2 { global: h; } V1;");
    let plain = "int f(void) { return 1; } int g(void) { return 1; } int h(void) { return 1; }";
    let hidden = |name: &str| {
        plain.replace(
            &format!("int {name}(void)"),
            &format!("__asm__(\".symver {name}1, {name}@V\" VERSION); int {name}1(void)"),
        )
    };
    let link = |side: &str, source: &str, version: &str| {
        let options = ["-Wl,-soname,libx.so.1", "-Wl,--version-script,v.map", version];
        lab.so(&format!("{side}/libx.so.1"), source, &options);
    };
    link("old", plain, "-DVERSION=\"1\"");
    for (name, version) in [("f", 1), ("h", 2)] {
        link("new", &hidden(name), &format!("-DVERSION=\"{version}\""));
        lab.write("main.c", format!("int {name}(void); int main(void) {{ return {name}(); }}"));
        let links = |side: &str| lab.sh(&format!("gcc main.c -o main {side}/libx.so.1")).status;
        assert!(links("old").success() && !links("new").success(), "{name}");
        let (value, _) = diff(&lab, &[&["--isolated"], OFF].concat());
        let expected = format!(
            "changed-symbol warning libx.so.1: 1 symbol changed, no audited file depends on that: \
             {name}"
        );
        assert_eq!(said(&value), [expected]);
        let reason = &value["findings"][0]["evidence"][0]["reason"];
        assert_eq!(reason, "default version before, not now");
    }
}
