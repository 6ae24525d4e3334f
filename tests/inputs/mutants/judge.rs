//! The verdict on one mutant, from linkaudit's report, readelf's facts, and, if these do not decide
//! it, the real loader.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use super::bounded::run;
use super::elf_file::{ElfFile, PT_DYNAMIC};
use super::facts::{Facts, Symbol, readelf, symbol};
use super::mutate::Category;
use super::report::Report;
use crate::support::{LddText, normalise};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The facts are those that readelf reads.
    Equal,
    /// The facts are those of the intact file: the loader does not read the damaged bytes.
    Unharmed,
    /// The library list is the loader's own.
    AsLoader,
    /// A finding says that the file is damaged.
    Reported,
    /// The file cannot be loaded: it is not ELF, is relocatable, or has no dynamic section.
    OtherKind,
    /// linkaudit has facts, but there is no oracle: readelf reports a problem, and the loader
    /// crashes.
    Unjudged,
    Different(String),
}

impl Verdict {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Unharmed => "unharmed",
            Self::AsLoader => "as the loader",
            Self::Reported => "reported",
            Self::OtherKind => "another kind",
            Self::Unjudged => "unjudged",
            Self::Different(_) => "different",
        }
    }
}

pub struct Mutant<'a> {
    pub file: &'a str,
    pub category: Category,
    pub bytes: &'a [u8],
}

/// `original` holds the facts of the undamaged file; `scratch` is a directory to work in.
pub fn judge(
    mutant: &Mutant<'_>,
    report: &Report,
    original: &Facts,
    dir: &Path,
    scratch: &Path,
) -> Verdict {
    let facts = report.files.get(mutant.file);
    if mutant.category == Category::Sections {
        return match facts {
            Some(facts) if facts == original => Verdict::Unharmed,
            Some(_) => Verdict::Different("section headers changed the facts".to_owned()),
            None => Verdict::Different("section headers hid the file".to_owned()),
        };
    }
    if report.damage.contains_key(mutant.file) {
        return Verdict::Reported;
    }
    if other_kind(mutant.bytes) {
        return Verdict::OtherKind;
    }
    let Some(facts) = facts else {
        return Verdict::Different("neither a finding nor a file of the report".to_owned());
    };
    let theirs = readelf(scratch, mutant.bytes);
    let reason = match &theirs {
        None => "readelf complains",
        Some(theirs) => match facts.difference(theirs) {
            Some(what) => what,
            None => match exports(facts, theirs, mutant) {
                None => return Verdict::Equal,
                Some(what) => return Verdict::Different(what),
            },
        },
    };
    match loader(dir, mutant.file) {
        None => match theirs {
            None => Verdict::Unjudged,
            Some(theirs) => Verdict::Different(format!("{reason}: {facts:?}\nreadelf: {theirs:?}")),
        },
        Some(lines) => {
            let ours = ours(dir, mutant.file);
            if ours == lines {
                Verdict::AsLoader
            } else {
                Verdict::Different(format!("{reason}\n--- linkaudit\n{ours}--- ldd\n{lines}"))
            }
        }
    }
}

/// A difference in the exports, if readelf and the loader agree about them.
fn exports(ours: &Facts, theirs: &Facts, mutant: &Mutant<'_>) -> Option<String> {
    let (Some(mut ours), Some(mut theirs)) = (ours.exports.clone(), theirs.exports.clone()) else {
        return None;
    };
    // A damaged hash table hides symbols from a lookup and not from a listing.
    if ours == theirs || mutant.category == Category::Hash {
        return None;
    }
    // readelf shows nothing where a name is empty, parts it from the version at the sign, and
    // its lines are taken apart at spaces.
    let odd = |byte: &u8| matches!(byte, b' ' | b'@' | b'^') || byte.is_ascii_control();
    let plain = |(name, version): &Symbol| {
        let unnamed = name.is_empty() || version.as_ref().is_some_and(Vec::is_empty);
        !unnamed && !name.iter().chain(version.iter().flatten()).any(odd)
    };
    let all = ours.len();
    ours.retain(plain);
    let unclear = all - ours.len();
    if unclear_versions(mutant.bytes) {
        ours = ours.into_iter().map(|(name, _)| (name, None)).collect();
        theirs = theirs.into_iter().map(|(name, _)| (name, None)).collect();
    }
    let only = |left: &BTreeSet<Symbol>, right: &BTreeSet<Symbol>| -> Vec<String> {
        left.difference(right).map(symbol).collect()
    };
    let (ours, theirs) = (only(&ours, &theirs), only(&theirs, &ours));
    let same = ours.is_empty() && theirs.len() <= unclear;
    (!same).then(|| format!("exports: only linkaudit {ours:?}; only readelf {theirs:?}"))
}

/// True if readelf and the loader may disagree on versions: two versions have one index, the base
/// mark is not exactly on the first, or a version has the hash that stands for no version.
fn unclear_versions(bytes: &[u8]) -> bool {
    let Some(elf) = ElfFile::new(bytes.to_vec()) else { return false };
    let (needed, defined) = (elf.needed_versions(), elf.defined_versions());
    let mut indices: Vec<u64> = needed.iter().filter_map(|(_, at)| elf.get(at + 6, 2)).collect();
    indices.extend(defined.iter().filter_map(|at| elf.get(at + 4, 2)));
    let different: BTreeSet<&u64> = indices.iter().collect();
    different.len() < indices.len()
        || defined.iter().enumerate().any(|(index, at)| {
            let usual: &[u64] = if index == 0 { &[1] } else { &[0, 2] };
            elf.get(at + 2, 2).is_some_and(|flags| !usual.contains(&flags))
        })
        || needed.iter().any(|(_, at)| elf.get(*at, 4) == Some(0))
        || defined.iter().any(|at| elf.get(at + 8, 4) == Some(0))
}

/// True for a file that is not for the loader, by its magic, type, machine (device code) or program
/// headers.
fn other_kind(bytes: &[u8]) -> bool {
    if !bytes.starts_with(b"\x7fELF") {
        return true;
    }
    // In the other byte order, the type is unknown.
    let Some(elf) = ElfFile::new(bytes.to_vec()) else { return bytes.get(5) == Some(&2) };
    let loadable =
        matches!(elf.get(16, 2), Some(2 | 3)) && !matches!(elf.get(18, 2), Some(190 | 224));
    let dynamic =
        |segment: &super::elf_file::Segment| segment.kind == PT_DYNAMIC && segment.size > 0;
    !loadable || !elf.segments().iter().any(dynamic)
}

/// The library lines of the real loader; `None` if it refuses the file or crashes.
fn loader(dir: &Path, file: &str) -> Option<String> {
    let file = format!("./{file}");
    for loader in ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux.so.2"] {
        let verified = run(dir, 10, &[loader, "--verify", &file]);
        if !matches!(verified.code(), Some(0 | 2)) {
            continue;
        }
        let traced = run(dir, 10, &["env", "LD_TRACE_LOADED_OBJECTS=1", loader, &file]);
        if traced.code() == Some(0) {
            return Some(library_lines(&traced.stdout));
        }
    }
    None
}

fn ours(dir: &Path, file: &str) -> String {
    let program = env!("CARGO_BIN_EXE_linkaudit");
    library_lines(&run(dir, 20, &[program, "--as-ldd", "--format", "ldd", file]).stdout)
}

/// The lines about libraries, with non-text bytes escaped as in linkaudit.
fn library_lines(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    for code in (0..0x20_u8).chain([0x7f]) {
        text = text.replace(&format!("\\u{{{code:x}}}"), &char::from(code).to_string());
    }
    LddText::parse(&normalise(&text)).libraries.join("\n") + "\n"
}
