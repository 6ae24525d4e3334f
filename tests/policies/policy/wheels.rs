//! auditwheel's policies: a small one for each of their features, and, if pip can fetch it, the
//! real file with all platforms and architectures.

use super::broken::PLATFORMS;
use super::kit::{Memory, bare, one};
use super::support;
use linkaudit::policy::Policy;
use std::process::Command;

fn limits(policy: &Policy) -> Vec<(&str, &[u32])> {
    policy.version_limits.iter().map(|l| (l.family.as_str(), l.newest.as_slice())).collect()
}

fn provided(policy: &Policy) -> Vec<&str> {
    policy.provided.iter().map(|provided| provided.soname.as_str()).collect()
}

#[test]
fn a_platform_is_ceilings_provided_libraries_and_forbidden_symbols() {
    let memory = Memory::default().with("w.json", PLATFORMS);
    for name in ["w.json#small_1_x86_64", "w.json#tiny_x86_64"] {
        let policy = memory.load(&[name]).expect("it is right");
        // 2.10 is newer than 2.9; TM_1 is not a number; a family without versions allows none.
        let newest: [(&str, &[u32]); 3] =
            [("CXXABI", &[1, 3]), ("GLIBC", &[2, 10]), ("LIBATOMIC", &[0])];
        assert_eq!(limits(&policy), newest);
        assert_eq!(provided(&policy), ["libc.so.6", "libm.so.6"]);
        let symbol = &policy.forbidden_symbols[0];
        assert_eq!(symbol.symbol.text(), "__issignaling");
        assert_eq!(
            symbol.library.as_ref().map(linkaudit::policy::Pattern::text),
            Some("libc.so.6")
        );
        assert_eq!((&*symbol.origin.source, symbol.origin.line), (name, 2));
        assert_eq!(policy.sources.last().map(|name| &**name), Some(name));
        let shown = one(&policy.show()).expect("it is right");
        assert_eq!(bare(shown), bare(policy));
    }
    let policy = memory.load(&["w.json#small_1_i686"]).expect("it is right");
    let newest: [(&str, &[u32]); 1] = [("GLIBC", &[2, 4])];
    assert_eq!(limits(&policy), newest);
    let policy = memory.load(&["w.json#musllinux_9_9_i686"]).expect("it is right");
    assert_eq!(provided(&policy), ["libc.musl-x86.so.1"]);
}

#[test]
fn a_file_with_one_platform_needs_no_choice() {
    let start = PLATFORMS.find("{\"name\": \"musl").expect("the second");
    let memory = Memory::default().with("m.json", format!("[{}", &PLATFORMS[start..]));
    let policy = memory.load(&["m.json"]).expect("it is right");
    assert_eq!(provided(&policy), ["libc.musl-x86.so.1"]);
    // An alias is not a second platform.
    let with_alias = PLATFORMS[start..].replacen("\"aliases\": []", "\"aliases\": [\"m1\"]", 1);
    assert!(with_alias.contains("m1"), "{with_alias}");
    let memory = Memory::default().with("m.json", format!("[{with_alias}"));
    let policy = memory.load(&["m.json"]).expect("it is right");
    assert_eq!(provided(&policy), ["libc.musl-x86.so.1"]);
}

/// The policies in auditwheel's own package.
fn real() -> Option<Vec<(String, String)>> {
    let lab = support::Lab::new();
    let pip = [
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--only-binary=:all:",
        "auditwheel",
        "-d",
        ".",
    ];
    let status = Command::new("python3").args(pip).current_dir(lab.root()).output();
    if !status.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let unpack = "import glob, zipfile; zipfile.ZipFile(glob.glob('*.whl')[0]).extractall('.')";
    let status = Command::new("python3").args(["-c", unpack]).current_dir(lab.root()).status();
    assert!(status.expect("python3 runs").success());
    let read = |name: &str| {
        let path = lab.path(&format!("auditwheel/policy/{name}"));
        (name.to_owned(), std::fs::read_to_string(path).expect("a policy"))
    };
    Some(vec![read("manylinux-policy.json"), read("musllinux-policy.json")])
}

#[test]
fn every_platform_of_the_real_files_is_read() {
    let Some(files) = real() else {
        return support::skip("wheels", "auditwheel cannot be fetched");
    };
    let mut platforms = 0;
    for (name, text) in files {
        let memory = Memory::default().with(&name, &text);
        memory.load(&[&name]).expect_err("one must be chosen");
        let all: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        for platform in all.as_array().expect("a list") {
            let number =
                |v: &str| v.split('.').map(|p| p.parse().ok()).collect::<Option<Vec<u32>>>();
            for (arch, families) in platform["symbol_versions"].as_object().expect("architectures")
            {
                let tag = format!("{name}#{}_{arch}", platform["name"].as_str().expect("a name"));
                let policy = memory.load(&[&tag]).unwrap_or_else(|error| panic!("{tag}:\n{error}"));
                let sonames = platform["lib_whitelist"].as_array().expect("libraries");
                assert_eq!(policy.provided.len(), sonames.len(), "{tag}");
                for limit in &policy.version_limits {
                    let versions = families[&limit.family].as_array().expect("versions");
                    let mut numbers =
                        versions.iter().filter_map(|v| number(v.as_str().expect("text")));
                    let within = |n: Vec<u32>| n <= limit.newest;
                    assert!(numbers.all(within), "{tag} {}", limit.family);
                    assert!(
                        versions.is_empty() || number_is_there(versions, &limit.newest),
                        "{tag}"
                    );
                }
                let symbols = platform["blacklist"].as_object().expect("libraries").values();
                let symbols: usize = symbols.map(|list| list.as_array().map_or(0, Vec::len)).sum();
                assert_eq!(policy.forbidden_symbols.len(), symbols, "{tag}");
                platforms += 1;
            }
        }
    }
    println!("{platforms} platforms of auditwheel, 0 refused");
    assert!(platforms > 50);
}

fn number_is_there(versions: &[serde_json::Value], newest: &[u32]) -> bool {
    let text: Vec<String> = newest.iter().map(u32::to_string).collect();
    versions.iter().any(|version| version.as_str() == Some(&text.join(".")))
}
