//! Other glibc releases than this machine's. linkaudit runs the same cases with a loader binary
//! whose version string is that of another release. Its answers are compared with answers recorded
//! from the real loaders.
//!
//! `testdata/loader/glibc-2.N.txt` holds two kinds of answers. Answers that depend on the
//! processor are under `=== THEME: CASE: TARGET @ PROCESSOR`, one for each of `processors`.
//! Answers that do not depend on it, but differ from those of 2.36, are under `=== THEME: CASE:
//! TARGET`. All other answers must equal those of this machine's loader, if it is a 2.36. Nothing
//! here depends on the machine's own processor. To record, on a machine with x86-64-v4 of either
//! vendor: `LINKAUDIT_RECORD=2.41=/path/to/ld-linux-x86-64.so.2,2.43=... cargo test --test loader
//! loader_cases::`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, OnceLock};

use linkaudit::audit;
use linkaudit::plan::{Cpu, Plan};
use linkaudit::report::{self, MadeOf};
use linkaudit::tree::{DirEntryKind, DiskTree, EntryType, Errno, MemTree, Opened, Stat, Tree};

use super::processors::{PROCESSORS, Processor};
use crate::support::{Lab, clean, difference, normalise};

/// Releases with recorded answers.
const RECORDED: &[u32] = &[36, 41, 43];
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
/// The release to which recorded answers are differences.
const BASE: u32 = 36;

/// The disk below a laboratory, with another file at the loader's path.
struct Overlay {
    cwd: PathBuf,
    loader: MemTree,
}

impl Overlay {
    /// The loader of this machine, with the version string of glibc 2.`minor`.
    fn new(cwd: &Path, minor: u32) -> Self {
        static OWN: OnceLock<Vec<u8>> = OnceLock::new();
        let own = OWN.get_or_init(|| std::fs::read(LOADER).expect("a loader"));
        let mark = b"release version 2.";
        let at = own.windows(mark.len()).position(|w| w == mark).expect("a release") + mark.len();
        let mut bytes = own.clone();
        bytes[at..at + 2].copy_from_slice(minor.to_string().as_bytes());
        let mut loader = MemTree::new();
        loader.file(LOADER, bytes);
        Self { cwd: cwd.to_owned(), loader }
    }

    fn is_loader(path: &Path) -> bool {
        let dirs = ["/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"];
        dirs.iter().any(|dir| path == Path::new(dir).join("ld-linux-x86-64.so.2"))
    }
}

impl Tree for Overlay {
    fn open(&self, path: &Path) -> Result<Opened, Errno> {
        if Self::is_loader(path) {
            return self.loader.open(Path::new(LOADER));
        }
        DiskTree::new().open(&self.cwd.join(path))
    }

    fn look(&self, path: &Path) -> Result<(EntryType, Stat), Errno> {
        if Self::is_loader(path) {
            return self.loader.look(Path::new(LOADER));
        }
        DiskTree::new().look(&self.cwd.join(path))
    }

    fn node(&self, path: &Path) -> Result<DirEntryKind, Errno> {
        if Self::is_loader(path) {
            return self.loader.node(Path::new(LOADER));
        }
        DiskTree::new().node(&self.cwd.join(path))
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf, Errno> {
        if Self::is_loader(path) {
            return self.loader.read_link(Path::new(LOADER));
        }
        DiskTree::new().read_link(&self.cwd.join(path))
    }

    fn list(&self, path: &Path, visit: &mut dyn FnMut(&OsStr, DirEntryKind)) -> Result<(), Errno> {
        DiskTree::new().list(&self.cwd.join(path), visit)
    }

    fn real_path(&self, path: &Path) -> Result<PathBuf, Errno> {
        if Self::is_loader(path) {
            return Ok(LOADER.into());
        }
        DiskTree::new().real_path(&self.cwd.join(path))
    }
}

/// linkaudit's answer on a processor, with a system loader of glibc 2.`minor`.
fn ours(lab: &Lab, file: &str, minor: u32, processor: &Processor) -> String {
    let tree = Overlay::new(&lab.root(), minor);
    let plan = Plan {
        as_ldd: true,
        every_file_is_root: true,
        cpu: processor.cpu(),
        ..Plan::new(vec![file.into()], lab.root())
    };
    let ground = audit::collect(&plan, &tree, audit::read(&plan, &tree, &AtomicUsize::new(0)));
    let audit = audit::audit(&plan, &tree, ground);
    let mut out = Vec::new();
    let ldd = report::OUTPUTS.iter().find(|output| output.name == "ldd").expect("an output");
    let MadeOf::LinkMaps(render) = ldd.made_of else { panic!("`ldd` shows link maps") };
    render(&audit, &mut out).expect("a vector takes all");
    String::from_utf8(out).expect("reports are UTF-8")
}

/// The steps of `ldd -r`; the variables must not reach the shell itself.
const TRACE: &str =
    "export LD_TRACE_LOADED_OBJECTS=1 LD_WARN=yes LD_BIND_NOW=yes; exec \"$0\" \"$1\" 2>&1";

/// The answer of another real loader on a processor, as `ldd -r` run by it would print it.
fn real(lab: &Lab, file: &str, loader: &Path, processor: &Processor) -> String {
    let copy = processor.loader(loader);
    let loader = copy.to_str().expect("a path in UTF-8");
    let typed = if file.contains('/') { file.to_owned() } else { format!("./{file}") };
    let verify = clean(loader).current_dir(lab.root()).args(["--verify", &typed]).output();
    if !verify.is_ok_and(|out| matches!(out.status.code(), Some(0 | 2))) {
        return "\tnot a dynamic executable\n".to_owned();
    }
    let trace = clean("sh")
        .current_dir(lab.root())
        .env("GLIBC_TUNABLES", format!("glibc.cpu.hwcaps={}", processor.lacks))
        .args(["-c", TRACE, loader, &typed])
        .output()
        .expect("a shell");
    // This machine's libc misses symbols of another release's loader; the case does not test
    // this.
    let text: String = normalise(&String::from_utf8_lossy(&trace.stdout))
        .replace(loader, LOADER)
        .lines()
        .filter(|line| !line.ends_with("libc.so.6)") || line.starts_with('\t'))
        .map(|line| format!("{line}\n"))
        .collect();
    text.replace(&format!("\t{LOADER} => {LOADER}\n"), &format!("\t{LOADER}\n"))
}

fn placeholders(lab: &Lab, text: &str) -> String {
    text.replace(lab.root().to_str().expect("UTF-8"), "$PWD")
}

fn record_file(minor: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("testdata/loader/glibc-2.{minor}.txt"))
}

/// The recorded answers of one release by case.
fn recorded(minor: u32) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(record_file(minor)).unwrap_or_default();
    let sections = text.split("=== ").skip(1);
    sections
        .filter_map(|section| section.split_once('\n'))
        .map(|(name, answer)| (name.to_owned(), answer.to_owned()))
        .collect()
}

/// Cases whose recorded answer would depend on the recording machine, with the reason.
const EXEMPT: &[(&str, &str)] = &[
    ("loader_under_its_path: lib.so", "the recorded loader lies at another path than the need's"),
    (
        "library_of_the_version_is_missing",
        "the loader reads behind its version table, into its heap",
    ),
];

/// False if the loader crashes or a 32-bit loader answers: then there is nothing to record.
fn comparable(lab: &Lab, file: &str, theirs: &str) -> bool {
    let head = std::fs::read(lab.path(file)).unwrap_or_default();
    head.get(4) != Some(&1) && !theirs.starts_with("Inconsistency") && !theirs.is_empty()
}

/// Compares one target under every recorded release; returns the differences.
pub(crate) fn compare(name: &str, lab: &Lab, file: &str, theirs: &str) -> Vec<String> {
    if !comparable(lab, file, theirs) || EXEMPT.iter().any(|(case, _)| name.contains(case)) {
        return Vec::new();
    }
    if let Some(request) = std::env::var_os("LINKAUDIT_RECORD") {
        for request in request.to_string_lossy().split(',') {
            record(name, lab, file, theirs, request);
        }
        return Vec::new();
    }
    let mut out = Vec::new();
    for minor in RECORDED {
        let answers = recorded(*minor);
        for processor in PROCESSORS {
            let answer = answers.get(&of(name, processor)).or_else(|| answers.get(name));
            let expected = match answer {
                Some(answer) => answer.clone(),
                None if super::kit::glibc_minor() == BASE => placeholders(lab, theirs),
                None => continue,
            };
            let ours = placeholders(lab, &ours(lab, file, *minor, processor));
            if let Some(text) = difference(&ours, &expected) {
                out.push(format!("=== glibc 2.{minor}, {}: {name}\n{text}", processor.name));
            }
        }
    }
    out
}

/// The section of an answer that depends on the processor.
fn of(name: &str, processor: &Processor) -> String {
    format!("{name} @ {}", processor.name)
}

fn record(name: &str, lab: &Lab, file: &str, theirs: &str, request: &str) {
    static LOCK: Mutex<()> = Mutex::new(());
    let _guard = LOCK.lock();
    let (release, loader) = request.split_once('=').expect("2.N=LOADER");
    let minor = release.trim_start_matches("2.").parse().expect("a release");
    assert_eq!(Cpu::host(false).x86_level, 4, "features can be taken away only");
    let ask = |processor| placeholders(lab, &real(lab, file, Path::new(loader), processor));
    let real: Vec<String> = PROCESSORS.iter().map(ask).collect();
    let mut answers = recorded(minor);
    answers.retain(|key, _| key != name && key.split_once(" @ ").is_none_or(|(of, _)| of != name));
    if real.iter().any(|answer| *answer != real[0]) {
        answers.extend(PROCESSORS.iter().map(|processor| of(name, processor)).zip(real));
    } else if difference(&real[0], &placeholders(lab, theirs)).is_some() {
        answers.insert(name.to_owned(), real[0].clone());
    }
    let sections = answers.iter().map(|(name, answer)| format!("=== {name}\n{answer}"));
    let text: Vec<String> = sections.collect();
    std::fs::create_dir_all(record_file(minor).parent().expect("a folder")).expect("a folder");
    std::fs::write(record_file(minor), text.concat()).expect("a record");
}
