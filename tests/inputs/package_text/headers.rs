//! Headers of Debian's packages. A real compiler in a chroot reads each, with the flags of the
//! packages' own pkg-config files, and reports files that it does not find. Then headers are
//! removed, one at a time.

use super::debian::{Debian, unpack_merged};
use super::random::{Random, amount, is_sweep, number};
use super::report::{Report, evidence, text};
use crate::staged::has_chroot;
use crate::support::{Lab, clean, linkaudit, skip};
use linkaudit::audit::{self, Audit};
use linkaudit::plan::Plan;
use linkaudit::tree::DiskTree;
use linkaudit::wants::Wants;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

/// A compiler and pkgconf for the chroot.
const TOOLS: [&str; 3] = ["g++", "gcc", "pkgconf"];
/// Headers that are compiled in one run of the test.
const SAMPLE: usize = 200;
/// Findings about one deleted header that the compiler checks.
const AGAIN: usize = 4;

struct System {
    lab: Lab,
    root: PathBuf,
    flags: Vec<String>,
}

/// The answer of the compiler for one header.
#[derive(Default)]
struct Compiled {
    /// The file, the line and the name of the fatal error.
    fatal: Option<(PathBuf, u32, String)>,
    /// Names that the compiler did not find, if it was told to continue.
    needs: BTreeSet<String>,
    /// True for any other error.
    failed: bool,
}

impl System {
    fn new() -> Result<Self, String> {
        let lab = Lab::new();
        let wanted: Vec<&str> = super::packages().iter().copied().chain(TOOLS).collect();
        let files = Debian::new("bookworm", "amd64")?.fetch(&wanted)?;
        let root = lab.path("root");
        unpack_merged(&files, &root)?;
        std::fs::create_dir_all(root.join("tmp")).map_err(|error| error.to_string())?;
        let mut system = Self { lab, root, flags: Vec::new() };
        system.flags = system.flags()?;
        Ok(system)
    }

    /// `-I` flags of all package files.
    fn flags(&self) -> Result<Vec<String>, String> {
        let mut flags = BTreeSet::new();
        for dir in ["usr/lib/x86_64-linux-gnu/pkgconfig", "usr/share/pkgconfig"] {
            for entry in std::fs::read_dir(self.root.join(dir)).into_iter().flatten().flatten() {
                let file = Path::new("/").join(dir).join(entry.file_name());
                let mut pkgconf = clean("chroot");
                pkgconf.arg(&self.root).args(["/usr/bin/pkgconf", "--cflags-only-I"]).arg(file);
                let output = pkgconf.output().map_err(|error| error.to_string())?;
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                flags.extend(text.split_whitespace().map(str::to_owned));
            }
        }
        flags.remove("-I/usr/include");
        if flags.is_empty() {
            Err("pkgconf says nothing".to_owned())
        } else {
            Ok(flags.into_iter().collect())
        }
    }

    /// Compiles one header; `all` goes on after a file that is not found, and lists what is read.
    fn compile_one(&self, header: &Path, all: bool) -> Compiled {
        let mode: &[&str] = if all { &["-M", "-MG"] } else { &["-E", "-o", "/tmp/out"] };
        let output = clean("chroot")
            .arg(&self.root)
            .args(["/usr/bin/g++", "-x", "c++"])
            .args(mode)
            .args(&self.flags)
            .arg(header)
            .env("LC_ALL", "C")
            .env("PATH", "/usr/sbin:/usr/bin")
            .output()
            .expect("chroot");
        let mut out = Compiled::default();
        if all {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let words = text.split_whitespace().filter(|word| *word != "\\");
            out.needs = words.filter(|word| !word.starts_with('/')).map(str::to_owned).collect();
        }
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            if let Some((place, name)) = line.split_once(": fatal error: ") {
                let name = name.split(": No such file").next().unwrap_or_default();
                let mut place = place.split(':');
                let file = PathBuf::from(place.next().unwrap_or_default());
                let number = place.next().and_then(|line| line.parse().ok()).unwrap_or(0);
                out.fatal = Some((file, number, name.to_owned()));
            } else {
                out.failed |= line.contains("error:");
            }
        }
        assert!(output.status.success() || out.failed || out.fatal.is_some(), "{output:?}");
        out
    }

    fn compile(&self, headers: &[PathBuf], all: bool) -> BTreeMap<PathBuf, Compiled> {
        headers.iter().map(|path| (path.clone(), self.compile_one(path, all))).collect()
    }

    fn audit(&self) -> Audit {
        let plan = Plan {
            has_root: true,
            rule_wants: Wants::HEADERS,
            threads: 2,
            ..Plan::new(vec!["/usr".into()], self.lab.root())
        };
        let tree = DiskTree::within(&self.root).expect("a root");
        let input = audit::read(&plan, &tree, &AtomicUsize::new(0));
        audit::audit(&plan, &tree, audit::collect(&plan, &tree, input))
    }

    /// Headers of the packages, not those of the compiler and the C library.
    fn headers(&self) -> Vec<PathBuf> {
        let mut out = Vec::new();
        for entry in walkdir::WalkDir::new(self.root.join("usr/include")).into_iter().flatten() {
            let path = entry.path();
            let is_header = path.extension().is_some_and(|end| end == "h" || end == "hpp");
            let of_system = ["c++", "linux", "asm", "asm-generic", "bits", "sys", "gnu"];
            let is_system = path.iter().any(|part| of_system.iter().any(|name| part == *name));
            if is_header && !is_system && entry.file_type().is_file() {
                out.push(Path::new("/").join(path.strip_prefix(&self.root).expect("a path")));
            }
        }
        out.sort();
        out
    }

    /// The reason why linkaudit is right not to report an error of the compiler; `None` if it is
    /// wrong.
    fn reason(&self, file: &Path, line: u32, name: &str) -> Option<&'static str> {
        let ends = |path: &Path| path.ends_with(name.trim_start_matches("../"));
        let mut all = walkdir::WalkDir::new(self.root.join("usr")).into_iter().flatten();
        if all.any(|entry| ends(entry.path())) {
            return Some("in a directory that no package file names");
        }
        let text = std::fs::read(self.root.join(file.strip_prefix("/").ok()?)).ok()?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let before: Vec<&str> = text.lines().take(line as usize).map(str::trim_start).collect();
        let count = |name: &str| {
            let is_it = |line: &&&str| {
                line.strip_prefix('#').is_some_and(|rest| rest.trim_start().starts_with(name))
            };
            before.iter().filter(is_it).count()
        };
        let open = count("if") - count("endif");
        let guard = usize::from(text.lines().any(|line| line.starts_with("#ifndef")));
        if open > guard {
            return Some("in a condition");
        }
        let first = name.split('/').next().unwrap_or_default();
        let is_dir = |dir: &Path| {
            let dir = self.root.join(dir.strip_prefix("/").unwrap_or(dir));
            dir.join(first).is_dir()
        };
        let has_dir = name.contains('/') && file.ancestors().any(is_dir);
        (!has_dir).then_some("the name of another package")
    }
}

#[test]
fn a_compiler_misses_the_same_headers() {
    if !has_chroot() {
        return skip("headers", "needs root for chroot");
    }
    let system = System::new().expect("packages");
    let audit = system.audit();
    let mut differ = Vec::new();
    // Each finding is an error of the compiler.
    let missing = &audit.package_text.headers;
    let files: BTreeSet<PathBuf> = missing.iter().map(|one| one.file.clone()).collect();
    let compiled = system.compile(&files.into_iter().collect::<Vec<_>>(), true);
    let mut unreached = 0;
    for one in missing {
        let name = String::from_utf8_lossy(&one.include.name).into_owned();
        let answer = compiled.get(&one.file).expect("an answer");
        println!("finding: {}:{}: {name}", one.file.display(), one.include.line);
        if answer.needs.contains(&name) {
            continue;
        }
        if answer.failed || answer.fatal.is_some() {
            unreached += 1;
        } else {
            differ.push(format!("{} finds {name}", one.file.display()));
        }
    }
    println!(
        "findings: {} cases, {unreached} that the compiler does not reach, {} differ",
        missing.len(),
        differ.len()
    );
    // Each error of the compiler is a finding, or there is a reason.
    let mut headers = system.headers();
    let all = headers.len();
    let mut random = Random::new(number("LINKAUDIT_SEED", 23));
    if std::env::var_os("LINKAUDIT_TEXTS").is_none() {
        headers.retain(|_| random.below(all) < SAMPLE);
    }
    let (mut reasons, mut met) = (BTreeMap::new(), BTreeSet::new());
    for (header, answer) in system.compile(&headers, false) {
        let Some((file, line, name)) = answer.fatal else { continue };
        let is_named =
            missing.iter().any(|one| one.file == file && *one.include.name == *name.as_bytes());
        if is_named || !met.insert((file.clone(), name.clone())) {
            continue;
        }
        match system.reason(&file, line, &name) {
            Some(reason) => *reasons.entry(reason).or_insert(0) += 1,
            None => {
                differ.push(format!("{}: {}:{line}: {name}", header.display(), file.display()));
            }
        }
    }
    println!(
        "headers: {} cases of {all}, silent: {reasons:?}, {} differ",
        headers.len(),
        differ.len()
    );
    assert!(headers.len() > 100, "{} headers", headers.len());
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn removed_headers_are_noticed() {
    if !has_chroot() {
        return skip("headers", "needs root for chroot");
    }
    let system = System::new().expect("packages");
    let before: BTreeSet<(PathBuf, Vec<u8>)> = missing(&system.audit());
    let headers = system.headers();
    let mut random = Random::new(number("LINKAUDIT_SEED", 23));
    // Each deletion costs an audit of the whole root.
    let count = amount("LINKAUDIT_TEXTS", 3).min(300);
    let (mut differ, mut noticed, mut cases) = (Vec::new(), 0, 0);
    for _ in 0..count {
        let header = random.pick(&headers).clone();
        let victim = system.root.join(header.strip_prefix("/").expect("a path"));
        let aside = system.lab.path("aside");
        std::fs::rename(&victim, &aside).expect("a file");
        let new: Vec<(PathBuf, Vec<u8>)> =
            missing(&system.audit()).difference(&before).cloned().collect();
        noticed += usize::from(!new.is_empty());
        cases += new.len().min(AGAIN);
        for (file, name) in new.into_iter().take(AGAIN) {
            let name = String::from_utf8_lossy(&name).into_owned();
            let answer = system.compile_one(&file, true);
            if !answer.needs.contains(&name) && !answer.failed && answer.fatal.is_none() {
                differ.push(format!(
                    "without {}: {} finds {name}",
                    header.display(),
                    file.display()
                ));
            }
        }
        std::fs::rename(&aside, &victim).expect("a file");
    }
    println!(
        "deletions: {count}, {noticed} noticed, {cases} cases compiled, {} differ",
        differ.len()
    );
    assert!(noticed > 0 || !is_sweep(), "no deletion was noticed");
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// A build directory given with `--lib-path` hides no missing header. The headers of a package that
/// is found there count, as for the compiler, which gets the flags of both package files.
#[test]
fn headers_below_lib_path_are_candidates() {
    let lab = Lab::new();
    let package = |dir: &str, name: &str, more: &str| {
        let prefix = lab.path(dir).display().to_string();
        let text = format!(
            "prefix={prefix}\nName: {name}\nDescription: a test\nVersion: 1\n{more}\
             Cflags: -I${{prefix}}/include\n"
        );
        lab.write(&format!("{dir}/lib/pkgconfig/{name}.pc"), text);
    };
    package("p", "foo", "Requires: dep\n");
    package("q", "dep", "");
    let names = ["foo/built.h", "foo/gone.h", "dep/there.h", "dep/gone.h"];
    let includes: Vec<String> = names.iter().map(|name| format!("#include <{name}>\n")).collect();
    lab.write("p/include/foo/a.h", includes.concat());
    lab.write("p/include/dep/own.h", "");
    lab.write("q/include/dep/there.h", "");
    lab.write("build/include/foo/built.h", "");
    let mut theirs = BTreeSet::new();
    for name in names {
        lab.write("one.c", format!("#include <{name}>\n"));
        let mut compiler = clean("gcc");
        compiler.current_dir(lab.root()).args(["-fsyntax-only", "-Ip/include", "-Iq/include"]);
        if !compiler.arg("one.c").output().expect("gcc").status.success() {
            theirs.insert(name.to_owned());
        }
    }
    let run = |paths: &[&str]| {
        let mut command = linkaudit();
        command.current_dir(lab.root()).args(["p", "--isolated", "-W", "missing-header"]);
        Report::of(command.args(paths.iter().flat_map(|path| ["--lib-path", path])))
    };
    let report = run(&["q", "build"]);
    let found = report.of_rule("missing-header").map(|finding| text(&finding["detail"]).to_owned());
    let found: BTreeSet<String> = found.collect();
    println!("headers below --lib-path: {} cases, {} missing", names.len(), theirs.len());
    assert_eq!(found, theirs);
    let built = report.of_rule("missing-header").find(|one| one["detail"] == "foo/built.h");
    let candidates: Vec<_> = evidence(built.expect("a finding"), "candidate").collect();
    assert!(
        candidates[0]["path"]
            .as_str()
            .is_some_and(|path| path.ends_with("build/include/foo/built.h"))
    );
    // Without the requirement, other packages may bring any header.
    assert_eq!(run(&["build"]).of_rule("missing-header").count(), 0);
}

fn missing(audit: &Audit) -> BTreeSet<(PathBuf, Vec<u8>)> {
    let all = audit.package_text.headers.iter();
    all.map(|one| (one.file.clone(), one.include.name.clone())).collect()
}
