//! Compares rules about policies with other tools: `readelf` for versions, symbols, needs and
//! search paths of this machine's libraries, `find` for required files.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;
use crate::support::report;

use report::{Report, evidence, text, whole_path};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use support::{Lab, clean, linkaudit, skip};

/// Facts as `path what`.
type Facts = BTreeSet<String>;

/// Libraries, plugins and programs of this machine, a few hundred of them.
fn files() -> Vec<PathBuf> {
    let dirs =
        ["/usr/lib/x86_64-linux-gnu", "/usr/bin", "/usr/sbin", "/usr/libexec", "/usr/lib/systemd"];
    let mut out = Vec::new();
    // Only one name of a hard-linked file counts.
    let mut inodes = BTreeSet::new();
    for dir in dirs {
        let walk = walkdir::WalkDir::new(dir).max_depth(2).sort_by_file_name();
        let entries = walk.into_iter().filter_map(Result::ok);
        let files =
            entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path);
        let is_elf = |path: &PathBuf| std::fs::read(path).is_ok_and(|b| b.starts_with(b"\x7fELF"));
        let elf: Vec<PathBuf> = files.filter(is_elf).collect();
        let mut new = |path: &PathBuf| {
            use std::os::unix::fs::MetadataExt as _;
            path.metadata().is_ok_and(|meta| inodes.insert((meta.dev(), meta.ino())))
        };
        let elf: Vec<PathBuf> = elf.into_iter().filter(&mut new).collect();
        let step = elf.len() / 120 + 1;
        out.extend(elf.into_iter().step_by(step));
    }
    out
}

fn readelf(option: &str, file: &Path) -> String {
    let output = clean("readelf").args(["-W", option]).arg(file).output().expect("readelf runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The text between brackets.
fn bracketed(line: &str) -> Option<&str> {
    line.split_once('[')?.1.rsplit_once(']').map(|(text, _)| text)
}

const POLICY: &str = r#"
schema = 1
[forbid]
libraries = [{ name = "lib[cm].so.6" }, { name = "libstdc++*" }]
symbols = [{ symbol = "mem*" }, { symbol = "*init*" }]
[limits.symbol-versions]
GLIBC = "2.17"
GLIBCXX = "3.4.20"
[search-path]
require = "rpath"
allow = ["/allowed"]
"#;

fn is_too_new(version: &str) -> bool {
    let limits = [("GLIBC_", &[2, 17, 0][..]), ("GLIBCXX_", &[3, 4, 20])];
    let Some((family, limit)) = limits.iter().find(|(family, _)| version.starts_with(family))
    else {
        return false;
    };
    if version == "GLIBC_PRIVATE" || version == "GLIBC_ABI_DT_RELR" {
        return true;
    }
    let parts: Option<Vec<u32>> =
        version[family.len()..].split('.').map(|p| p.parse().ok()).collect();
    let mut parts = parts.unwrap_or_else(|| panic!("{version} has no number: say what it is"));
    parts.resize(3, 0);
    parts.as_slice() > *limit
}

/// The facts of readelf that concern the policy.
fn theirs(file: &Path) -> Facts {
    let mut out = Facts::new();
    let name = file.display();
    let mut needs_table = false;
    for line in readelf("-V", file).lines() {
        if line.contains("section '") {
            needs_table = line.contains("Version needs section");
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(at) = words.iter().position(|word| *word == "Name:")
            && needs_table
            && is_too_new(words[at + 1])
            && !line.contains("WEAK")
        {
            out.insert(format!("{name} version {}", words[at + 1]));
        }
    }
    for line in readelf("--dyn-syms", file).lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [number, value, _, kind, bind, visibility, section, symbol, ..] = words[..] else {
            continue;
        };
        if !number.ends_with(':') || !["GLOBAL", "WEAK", "UNIQUE"].contains(&bind) {
            continue;
        }
        let symbol = symbol.split('@').next().unwrap_or(symbol);
        let findable = ["NOTYPE", "OBJECT", "FUNC", "COMMON", "TLS", "IFUNC"].contains(&kind)
            && (value.bytes().any(|b| b != b'0') || section == "ABS" || kind == "TLS")
            && !["HIDDEN", "INTERNAL"].contains(&visibility);
        let hit = symbol.starts_with("mem") || symbol.contains("init");
        if hit && (section == "UND" || findable) {
            out.insert(format!("{name} symbol {symbol}"));
        }
    }
    for line in readelf("-d", file).lines() {
        let Some(value) = bracketed(line) else { continue };
        if line.contains("(NEEDED)") {
            let hit = ["libc.so.6", "libm.so.6"].contains(&value) || value.starts_with("libstdc++");
            out.extend(hit.then(|| format!("{name} needs {value}")));
        }
        if line.contains("(RUNPATH)") {
            out.insert(format!("{name} tag"));
        }
        if line.contains("(RUNPATH)") || line.contains("(RPATH)") {
            let entries = value.split(':').filter(|_| !value.is_empty());
            out.extend(entries.map(|entry| format!("{name} entry {entry}")));
        }
    }
    out
}

#[test]
fn readelf_sees_the_same() {
    let lab = Lab::new();
    let files = files();
    let list: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    lab.write("list", list.join("\n"));
    lab.write("policy.toml", POLICY);
    let mut command = linkaudit();
    let args = ["--isolated", "--policy", "policy.toml", "--files-from", "list"];
    let report = Report::of(command.current_dir(lab.root()).args(args));
    let audited: BTreeSet<&PathBuf> = files.iter().collect();
    let mut ours = Facts::new();
    let mut references = 0;
    for finding in report.findings() {
        let path = whole_path(finding);
        if !audited.contains(&path) {
            continue;
        }
        let name = path.display();
        ours.extend(match text(&finding["rule"]) {
            "forbidden-library" => Some(format!("{name} needs {}", text(&finding["library"]))),
            "forbidden-symbol" => Some(format!("{name} symbol {}", text(&finding["symbol"]))),
            "symbol-version-too-new" => {
                references += evidence(finding, "reference").count();
                Some(format!("{name} version {}", text(&finding["version"])))
            }
            "search-path-policy" => Some(match finding["detail"].as_str() {
                Some(entry) => format!("{name} entry {entry}"),
                None => format!("{name} tag"),
            }),
            _ => None,
        });
    }
    let theirs: Facts = files.iter().flat_map(|file| theirs(file)).collect();
    for kind in ["needs", "symbol", "version", "tag", "entry"] {
        let count = theirs.iter().filter(|fact| fact.split(' ').nth(1) == Some(kind)).count();
        println!("policies and readelf: {count} facts: {kind}");
        if count == 0 {
            skip("policy_rules_readelf", &format!("no file of this machine has a fact `{kind}`"));
        }
    }
    let differences: Vec<&String> = ours.symmetric_difference(&theirs).collect();
    println!(
        "policies and readelf: {} files, {} facts, {} differences",
        files.len(),
        theirs.len(),
        differences.len()
    );
    assert!(differences.is_empty(), "{differences:#?}");
    assert!(references > 0, "no version has a symbol that needs it");
}

/// Paths of a tree against the `-path` of `find`, whose `*` crosses slashes: patterns without `*`
/// in directories mean the same to both.
#[test]
fn find_sees_the_same() {
    let lab = Lab::new();
    for name in ["a/x.h", "a/b/x.h", "a/b/y.h", "c/.hidden", "z", "a/sp ace.h"] {
        lab.write(&format!("p/{name}"), "");
    }
    lab.link("x.h", "p/a/link.h");
    lab.link("nowhere", "p/a/dead.h");
    lab.link("a", "p/d");
    lab.link("z", "p/a/to-dir.h");
    let patterns = [
        "z", "a/x.h", "a/link.h", "a/dead.h", "a/b", "d/x.h", "d/b/y.h", "d/link.h", "a/*.h",
        "*/x.h", "*/*/y.h", "a/b/?.h", "c/*", "c/.hid*", "a/sp*", "x.h", "b/*", "e/*", "a/b/*/x",
        "nowhere",
    ];
    let mut differences = Vec::new();
    for pattern in patterns {
        lab.write("policy.toml", format!("schema = 1\n[require]\nfiles = [\"{pattern}\"]\n"));
        let mut command = linkaudit();
        let args = ["--isolated", "--policy", "policy.toml", "p"];
        let report = Report::of(command.current_dir(lab.root()).args(args));
        let ours = report.of_rule("required-file").count() == 0;
        let depth = pattern.split('/').count().to_string();
        let found = clean("find")
            .current_dir(lab.path("p"))
            .args(["-L", ".", "-mindepth", &depth, "-maxdepth", &depth, "-type", "f", "-path"])
            .arg(format!("./{pattern}"))
            .output()
            .expect("find runs");
        if ours == found.stdout.is_empty() {
            differences.push(format!("{pattern}: {}", String::from_utf8_lossy(&found.stdout)));
        }
    }
    println!(
        "required files and find: {} patterns, {} differences",
        patterns.len(),
        differences.len()
    );
    assert!(differences.is_empty(), "{differences:#?}");
}

/// A demand about files that were not given is always reported as undecided.
#[test]
fn what_cannot_be_answered_is_said() {
    let lab = Lab::new();
    lab.so("p/lib/liba.so", "int a(void) { return 1; }", &[]);
    lab.cc("p/lib/a.o", "int b(void) { return 1; }", &["-c"], &[]);
    let ar = clean("ar").current_dir(lab.path("p/lib")).args(["rc", "liba.a", "a.o"]).status();
    assert!(ar.expect("ar runs").success());
    let policy = |text: &str| lab.write("linkaudit.toml", format!("schema = 1\n{text}"));
    let rules = |paths: &[&str]| {
        let report = Report::of(linkaudit().current_dir(lab.root()).args(paths));
        let rules: Vec<String> = report.findings().map(|f| text(&f["rule"]).to_owned()).collect();
        (report.status, rules)
    };
    let undecided = (3, vec!["undecided".to_owned()]);
    let file = "[require]\nfiles = [\"include/a.h\"]\n";
    policy(file);
    assert_eq!(rules(&["p/lib/liba.so"]), undecided, "no directory");
    assert_eq!(rules(&["p"]), (1, vec!["required-file".to_owned()]));
    assert_eq!(rules(&["p/lib/liba.so", "-A", "required-file"]), (0, vec![]));
    policy("[require]\nsymbols = [{ path = \"lib/liba.so\", symbol = \"a\" }]\n");
    assert_eq!(rules(&["p/lib/liba.so"]), undecided, "the prefix is another one");
    assert_eq!(rules(&["p"]), (0, vec![]));
    for (path, symbol) in [("lib/liba.a", "a"), ("lib/a.o", "b")] {
        policy(&format!("[require]\nsymbols = [{{ path = \"{path}\", symbol = \"{symbol}\" }}]\n"));
        assert_eq!(rules(&["p"]), undecided, "{path}: its symbols are not read");
    }
    policy("[limits.symbol-versions]\nGLIBC = \"2.0\"\n");
    lab.write("versions", "GLIBC_ODD { global: odd; };\n");
    let flags = ["-Wl,--version-script=$PWD/versions", "-Wl,-soname,libodd.so", "-nostdlib"];
    lab.so("q/libodd.so", "int odd(void) { return 1; }", &flags);
    let flags = ["-nostdlib", "$PWD/q/libodd.so", "-Wl,-rpath,$ORIGIN"];
    lab.so("q/libuser.so", "int odd(void); int user(void) { return odd(); }", &flags);
    assert_eq!(rules(&["q"]), undecided, "GLIBC_ODD has no number");
    let config = |text: &str| lab.write("p/lib/cmake/odd/oddConfig.cmake", text);
    policy("[require]\ncmake-packages = [{ name = \"odd\" }]\n");
    config("if(NOT \"$ENV{ODD_HOME}\" STREQUAL \"\")\n  set(odd_FOUND False)\nendif()\n");
    assert_eq!(rules(&["p"]), undecided, "it depends on the environment");
    config("set(odd_FOUND True)\n");
    assert_eq!(rules(&["p"]), (0, vec![]));
    config("set(odd_FOUND False)\n");
    assert_eq!(rules(&["p"]), (1, vec!["required-package".to_owned()]));
}
