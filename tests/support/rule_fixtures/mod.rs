//! Builds the fixtures of `testdata/rules`: one laboratory per fixture, from the lines of its
//! `build` file. `testdata/rules/README.md` describes the format.
//!
//! It only builds and runs fixtures: the tests state the expected findings.
#![allow(dead_code, reason = "every test binary uses its own part of this module")]

mod cache;

use crate::support::elf_file::ElfFile;
use crate::support::random::step;
use crate::support::{Lab, clean};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The directory of the fixtures.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/rules")
}

/// Names of the folders of rules, sorted.
pub fn rules() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).expect("testdata/rules");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().expect("a name in UTF-8"))
        .collect();
    names.sort();
    names
}

/// One `bad` or `good` folder.
pub struct Fixture {
    pub rule: String,
    pub kind: &'static str,
}

impl Fixture {
    pub fn bad() -> Vec<Self> {
        rules().into_iter().map(|rule| Self { rule, kind: "bad" }).collect()
    }

    pub fn good() -> Vec<Self> {
        rules().into_iter().map(|rule| Self { rule, kind: "good" }).collect()
    }

    /// All fixtures with findings in `.ci/run`, else every `few`th.
    pub fn some_bad(few: usize) -> Vec<Self> {
        Self::bad().into_iter().step_by(step(few)).collect()
    }

    /// All fixtures in `.ci/run`, else every `few`th.
    pub fn some(few: usize) -> Vec<Self> {
        Self::bad().into_iter().chain(Self::good()).step_by(step(few)).collect()
    }

    pub fn name(&self) -> String {
        format!("{}/{}", self.rule, self.kind)
    }

    pub fn path(&self, file: &str) -> PathBuf {
        folder().join(&self.rule).join(self.kind).join(file)
    }

    /// The fixture in a laboratory of its own.
    pub fn build(&self) -> Built {
        let script = std::fs::read_to_string(self.path("build"))
            .unwrap_or_else(|e| panic!("{}/build: {e}", self.name()));
        let place = cache::place(self, &script);
        if let Some(found) = place.as_deref().and_then(cache::find) {
            return found;
        }
        let built = self.build_new(&script);
        if let Some(place) = place {
            cache::keep(&place, &built);
        }
        built
    }

    fn build_new(&self, script: &str) -> Built {
        let mut built = Built { lab: Lab::new(), audit: vec![".".to_owned()] };
        if let Ok(policy) = std::fs::read_to_string(self.path("policy.toml")) {
            built.lab.write("linkaudit.toml", policy);
        }
        for (number, line) in script.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let place = format!("{}/build:{}", self.name(), number + 1);
            let here = built.lab.root();
            let here = here.to_str().expect("a laboratory path in UTF-8");
            let words: Vec<String> =
                words(line, &place).iter().map(|word| word.replace("$PWD", here)).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            self.step(&mut built, &words, &place);
        }
        built
    }

    fn step(&self, built: &mut Built, words: &[&str], place: &str) {
        let lab = &built.lab;
        match *words {
            ["so", out, source, ref flags @ ..] => {
                lab.so(out, &self.source(source), flags);
            }
            ["exe", out, source, ref flags @ ..] => {
                lab.exe(out, &self.source(source), flags);
            }
            ["object", out, source, ref flags @ ..] => {
                lab.cc(out, &self.source(source), &["-c", "-fPIC"], flags);
            }
            ["archive", ref words @ ..] => {
                let (letters, out, members) = match *words {
                    ["--thin", out, ref members @ ..] => ("rcT", out, members),
                    ["--no-index", out, ref members @ ..] => ("rcS", out, members),
                    [out, ref members @ ..] => ("rc", out, members),
                    [] => panic!("{place}: no archive"),
                };
                let status = clean("ar")
                    .current_dir(lab.root())
                    .arg(letters)
                    .arg(out)
                    .args(members)
                    .status()
                    .expect("ar runs");
                assert!(status.success(), "{place}: ar");
            }
            ["write", name, ref lines @ ..] => {
                lab.write(name, lines.join("\n") + "\n");
            }
            ["link", target, name] => lab.link(target, name),
            ["remove", name] => std::fs::remove_file(lab.path(name)).expect(place),
            ["truncate", name, size] => {
                let file = std::fs::OpenOptions::new().write(true).open(lab.path(name));
                file.expect(place).set_len(size.parse().expect(place)).expect(place);
            }
            ["patch", name, offset, ref bytes @ ..] => {
                let mut all = std::fs::read(lab.path(name)).expect(place);
                let at: usize = offset.parse().expect(place);
                for (i, byte) in bytes.iter().enumerate() {
                    all[at + i] = u8::from_str_radix(byte, 16).expect(place);
                }
                std::fs::write(lab.path(name), all).expect(place);
            }
            ["retag", name, from, to] => {
                let mut elf =
                    ElfFile::new(std::fs::read(lab.path(name)).expect(place)).expect(place);
                let from: u64 = from.parse().expect(place);
                let entry = elf.dynamic().into_iter().find(|entry| entry.tag == from);
                let (at, size) = (entry.expect(place).at, elf.word_size());
                assert!(elf.put(at, size, to.parse().expect(place)), "{place}");
                std::fs::write(lab.path(name), elf.bytes).expect(place);
            }
            ["chmod", mode, name] => {
                let mode = u32::from_str_radix(mode, 8).expect(place);
                let mode = std::fs::Permissions::from_mode(mode);
                std::fs::set_permissions(lab.path(name), mode).expect(place);
            }
            ["fifo", name] => {
                let path = lab.path(name);
                std::fs::create_dir_all(path.parent().expect(place)).expect(place);
                assert!(clean("mkfifo").arg(path).status().expect("mkfifo").success(), "{place}");
            }
            ["device", ref words @ ..] => {
                let (out, bytes) = device(words, place);
                lab.write(out, bytes);
            }
            ["hip", out, bundles, ref flags @ ..] => {
                let files: Vec<String> =
                    bundles.split(',').map(|file| lab.path(file).display().to_string()).collect();
                let files: Vec<&str> = files.iter().map(String::as_str).collect();
                let name = Path::new(out).file_name().and_then(|name| name.to_str()).expect(place);
                let name = name.split('.').next().expect(place).replace('-', "_");
                lab.so(out, &crate::support::device::host_source(&name, &files), flags);
            }
            ["audit", ref args @ ..] => {
                built.audit = args.iter().map(|arg| (*arg).to_owned()).collect();
            }
            _ => panic!("{place}: no such step, or too few words: {words:?}"),
        }
    }

    /// A source is C text, or a `.c` file beside `build`.
    fn source(&self, source: &str) -> String {
        let file = Path::new(source).extension().is_some_and(|extension| extension == "c");
        if file {
            std::fs::read_to_string(self.path(source)).expect(source)
        } else {
            source.to_owned()
        }
    }
}

/// The file of a step `device`, and its bytes.
fn device<'w>(words: &[&'w str], place: &str) -> (&'w str, Vec<u8>) {
    use crate::support::device;
    match *words {
        ["code", out, target] => (out, device::code_object(target)),
        ["unnamed", out, target] => {
            (out, device::code_object_with(target, target, &[Some("a"), None]))
        }
        ["bundle", out, ref targets @ ..] => (out, device::bundle(targets, 4096)),
        ["labelled", out, id, target] => {
            let code = device::code_object(target);
            (out, device::bundle_of(&[(id, &code)], 4096))
        }
        ["ccob", version, method, out, ref targets @ ..] => {
            let plain = device::bundle(targets, 4096);
            (out, device::ccob(&plain, version.parse().expect(place), method))
        }
        ["index", out, ref names @ ..] => (out, device::index(names)),
        _ => panic!("{place}: no such device code"),
    }
}

/// Words of a line: separated by blanks, kept together by single quotes.
fn words(line: &str, place: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !quoted => out.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    assert!(!quoted, "{place}: a quote is not closed");
    out.extend(word);
    out
}

/// A fixture on disk.
pub struct Built {
    pub lab: Lab,
    /// Arguments of `linkaudit`: the paths to audit, and the options of the fixture.
    pub audit: Vec<String>,
}

impl Built {
    /// Runs the audit with further options; returns the JSON report and the exit status.
    pub fn report(&self, options: &[&str]) -> (Value, Option<i32>) {
        let mut args: Vec<&str> = self.audit.iter().map(String::as_str).collect();
        args.extend(["--format", "json"]);
        args.extend(options);
        let output = self.lab.linkaudit(&args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.is_empty(), "stderr: {error}");
        let report = serde_json::from_slice(&output.stdout).expect("a JSON report");
        (report, output.status.code())
    }

    /// The findings of a report as lines of an `expect` file.
    pub fn lines(&self, report: &Value) -> Vec<String> {
        let here = self.lab.root();
        let here = here.to_str().expect("a laboratory path in UTF-8");
        let field = |finding: &Value, key: &str| match &finding[key] {
            Value::Null => "-".to_owned(),
            Value::String(text) => text.replace(here, "$PWD").replace(' ', "%20"),
            other => other.to_string(),
        };
        let keys = ["rule", "path", "symbol", "version", "library", "detail", "when"];
        let findings = report["findings"].as_array().expect("findings");
        let line = |finding| keys.map(|key| field(finding, key)).join(" ");
        findings.iter().map(line).collect()
    }
}
