//! The ELF files of this machine: for every file below /usr, linkaudit must print the same as the
//! real `ldd -r`.
//!
//! `cargo test` takes every tenth file, `LINKAUDIT_SWEEP=all` takes all of them. Files that are not
//! dynamic according to `ldd` are compared too, except those of the x32 ABI. For these the answer
//! depends on the running kernel, and linkaudit does not ask the kernel.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;
use crate::support::random::is_sweep;

use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use support::{Lab, Tally};

const NOT_DYNAMIC: &str = "\tnot a dynamic executable\n";

/// The test fails if the loader crashes on more than one in this many files.
const CRASHES_ONE_IN: usize = 100;

#[test]
fn every_elf_file_of_usr() {
    let files: Vec<ElfFile> =
        elf_files(Path::new("/usr")).step_by(if is_sweep() { 1 } else { 10 }).collect();
    let ours = linkaudit(&files);
    let theirs = ldd(&files);

    let mut dynamic = Tally::default();
    let mut others = Tally::default();
    let (mut crashes, mut x32) = (Vec::new(), 0);
    for (((file, ours), theirs), name) in
        files.iter().zip(&ours).zip(&theirs).zip(files.iter().map(ElfFile::name))
    {
        if let Some(how) = crash(file, ours, theirs) {
            crashes.push(format!("host sweep: left out {name}: the real loader {how}"));
        } else if theirs != NOT_DYNAMIC {
            dynamic.compare(&name, ours, theirs);
        } else if file.is_x32 {
            x32 += 1;
        } else {
            others.compare(&name, ours, theirs);
        }
    }
    for line in &crashes {
        println!("{line}");
    }
    println!("host sweep: {} files, {} differences", dynamic.cases, dynamic.differences.len());
    println!(
        "host sweep: besides {} files that ldd calls not dynamic, {} differences; {x32} of the x32 \
         ABI without an x32 kernel and {} that crash the loader left out",
        others.cases,
        others.differences.len(),
        crashes.len()
    );
    assert!(dynamic.cases > if is_sweep() { 300 } else { 30 }, "/usr has too few dynamic files");
    assert!(crashes.len() * CRASHES_ONE_IN <= dynamic.cases, "{}", crashes.join("\n"));
    assert!(others.differences.is_empty(), "{}", others.differences.join("\n"));
    assert!(dynamic.differences.is_empty(), "{}", dynamic.differences.join("\n"));
}

struct ElfFile {
    path: PathBuf,
    /// True for a 32-bit file for x86-64.
    is_x32: bool,
}

impl ElfFile {
    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// Regular ELF files in byte order of their directories, without names that have a newline, which a
/// list cannot hold.
fn elf_files(top: &Path) -> impl Iterator<Item = ElfFile> {
    walkdir::WalkDir::new(top)
        .sort_by_file_name()
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .filter(|entry| !entry.path().as_os_str().as_bytes().contains(&b'\n'))
        .filter_map(|entry| {
            let mut head = [0; 20];
            std::fs::File::open(entry.path()).and_then(|mut f| f.read_exact(&mut head)).ok()?;
            let is_x32 = head[4] == 1 && head[18..20] == 62_u16.to_le_bytes();
            head.starts_with(b"\x7fELF").then(|| ElfFile { path: entry.into_path(), is_x32 })
        })
}

/// The text that linkaudit prints for each file, from one run.
fn linkaudit(files: &[ElfFile]) -> Vec<String> {
    let lab = Lab::new();
    let list: Vec<&[u8]> = files.iter().map(|file| file.path.as_os_str().as_bytes()).collect();
    lab.write("list", list.join(&b'\n'));
    let output = lab.linkaudit(&["--as-ldd", "--format", "ldd", "--files-from", "list"]);
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut pages: Vec<String> = Vec::with_capacity(files.len());
    let mut headings = files.iter().map(|file| format!("{}:", file.name())).peekable();
    for line in text.lines() {
        if headings.next_if(|heading| heading == line).is_some() {
            pages.push(String::new());
        } else {
            let page = pages.last_mut().expect("a heading comes first");
            page.push_str(line);
            page.push('\n');
        }
    }
    assert_eq!(pages.len(), files.len(), "every file has a heading; next: {:?}", headings.next());
    pages
}

/// The text that the real `ldd -r` prints for each file.
fn ldd(files: &[ElfFile]) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let pages = Mutex::new(vec![String::new(); files.len()]);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((at, file)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    files.get(at).map(|file| (at, file))
                } {
                    let page = support::ldd_r(Path::new("/"), file.path.as_os_str());
                    pages.lock().expect("no thread panicked")[at] = page;
                }
            });
        }
    });
    pages.into_inner().expect("no thread panicked")
}

/// The signal that ended the real loader, if any. This runs only if both sides differ: a loader
/// that crashes gives no answer to compare.
fn crash(file: &ElfFile, ours: &str, theirs: &str) -> Option<String> {
    support::difference(ours, theirs)?;
    let script = std::fs::read_to_string("/usr/bin/ldd").expect("ldd is a script");
    let list = script.lines().find_map(|line| line.strip_prefix("RTLDLIST="));
    for loader in list.expect("ldd has a list of loaders").trim_matches('"').split_whitespace() {
        let mut verify = support::clean(loader);
        let Ok(status) = verify.arg("--verify").arg(&file.path).status() else { continue };
        if let Some(signal) = status.signal() {
            return Some(format!("ends with signal {signal} while it verifies"));
        }
        if !matches!(status.code(), Some(0 | 2)) {
            continue;
        }
        let traced = support::clean(loader)
            .envs([("LD_TRACE_LOADED_OBJECTS", "1"), ("LD_WARN", "yes"), ("LD_BIND_NOW", "yes")])
            .arg(&file.path)
            .output()
            .ok()?;
        return traced.status.signal().map(|signal| format!("ends with signal {signal}"));
    }
    None
}
