//! Reports about many plugins at once: valid by their schemas, and the same bytes for any number of
//! threads, and with and without reuse of standalone bindings.

use crate::support::linkaudit;
use jsonschema::Validator;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

const DIRS: [&str; 3] =
    ["/usr/lib/python3", "/usr/lib/python3.11", "/usr/lib/x86_64-linux-gnu/perl-base"];
const HOSTS: [&str; 4] = ["--host", "/usr/bin/python3=**/*.so", "--host", "/usr/bin/perl=**/*.so"];

fn run(args: &[&str], dirs: &[&str]) -> Vec<u8> {
    let output = linkaudit().args(args).args(dirs).output().expect("linkaudit runs");
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{args:?}: {}", output.status);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    output.stdout
}

fn dirs() -> Vec<&'static str> {
    DIRS.into_iter().filter(|dir| Path::new(dir).is_dir()).collect()
}

#[test]
fn the_same_bytes() {
    let (dirs, mut compared) = (dirs(), 0);
    for output in
        [&["--format", "json"][..], &["--format", "json", "--facts"], &["--format", "human"]]
    {
        let args = [&HOSTS, output].concat();
        let expected = run(&args, &dirs);
        for other in [&["-j", "1"][..], &["-j", "7"], &["--no-reuse"], &["--no-reuse", "-j", "3"]] {
            let said = run(&[&args, other].concat(), &dirs);
            assert!(said == expected, "{output:?} {other:?} says something else");
            compared += 1;
        }
    }
    println!("hosts: {compared} reports compared with another, 0 differences");
}

#[test]
fn valid_reports() {
    let dirs = dirs();
    let runs: [(&str, &[&str]); 4] = [
        ("report", &["check", "--facts"]),
        ("tree", &["tree"]),
        ("why", &["why", "libc.so.6"]),
        ("why", &["why", "PyLong_FromLong"]),
    ];
    let mut hosted = BTreeSet::new();
    for (name, args) in runs {
        let (command, rest) = args.split_first().expect("a command");
        let said = run(&[&[*command], rest, &HOSTS[..], &["--format", "json"]].concat(), &dirs);
        let said: Value = serde_json::from_slice(&said).expect("JSON");
        let validator = validator(name);
        let errors: Vec<String> = validator.iter_errors(&said).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {}", errors.join("\n"));
        let text = said.to_string();
        hosted.extend(["\"host\"", "\"dlopen\""].into_iter().filter(|word| text.contains(word)));
    }
    assert_eq!(hosted.len(), 2, "the reports say nothing of hosts");
    println!("hosts: {} reports are valid", runs.len());
}

fn validator(name: &str) -> Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/{name}.schema.json"));
    let text = std::fs::read_to_string(path).expect("the schema");
    let schema = serde_json::from_str(&text).expect("a schema in JSON");
    jsonschema::validator_for(&schema).expect("a valid schema")
}
