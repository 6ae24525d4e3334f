//! Lists the paths that a specs file of GCC names for compilations and links, and the flags and
//! libraries that the file adds to every link. `mod.rs` checks these paths, flags and libraries.

use crate::format::gcc_specs::{Specs, SpecsWord};

/// Names of the specs that a default link or compilation uses (`link_command_spec` and
/// `default_compilers` in GCC).
const USED: [&str; 13] = [
    "asm",
    "cc1",
    "cc1_options",
    "cc1plus",
    "cpp",
    "cpp_options",
    "cpp_unique_options",
    "endfile",
    "lib",
    "libgcc",
    "link",
    "link_gcc_c_sequence",
    "link_libgcc",
];
/// Names of the specs that every link uses, whatever its options.
const LINKS: [&str; 5] = ["lib", "libgcc", "link", "link_gcc_c_sequence", "link_libgcc"];
/// Libraries that GCC itself links for C (`LIB_SPEC`, `LIBGCC_SPEC`, `gnu-user.h`).
const OWN: [&[u8]; 6] = [b"-lc", b"-lgcc", b"-lgcc_eh", b"-lgcc_s", b"-lm", b"-lpthread"];
/// Flags whose next word is a path.
const PATHS: [&str; 12] = [
    "--dynamic-linker",
    "--sysroot",
    "-B",
    "-I",
    "-L",
    "-dynamic-linker",
    "-idirafter",
    "-include",
    "-iquote",
    "-isystem",
    "-rpath",
    "-rpath-link",
];
/// Flags whose next word is skipped, because it is not an input path.
const OTHERS: [&str; 4] = ["-Map", "-o", "-soname", "-z"];

/// A path or a library that a specs file names.
pub(super) struct SpecsName<'a> {
    /// The number of the line, from 1.
    pub(super) line: u32,
    /// The path, or the library with its flag.
    pub(super) text: &'a [u8],
    /// The meaning of the text.
    pub(super) kind: SpecsNameKind,
}

#[derive(Clone, Copy)]
pub(super) enum SpecsNameKind {
    /// A file that GCC reads or links.
    File,
    /// A path that is the argument of a flag.
    Flag,
    /// A path that is the argument of a flag that every link gets: `-L`, `-B` or `-rpath`.
    LinkFlag(&'static str),
    /// A library that every link gets.
    Library,
}

/// The paths and libraries that the specs name. A later spec replaces earlier specs of the same
/// name, unless the later spec is marked as an addition.
pub(super) fn named<'a>(file: &Specs<'a>) -> Vec<SpecsName<'a>> {
    let mut out = Vec::new();
    for name in USED {
        let same = file.specs.iter().filter(|spec| spec.name == name.as_bytes());
        let all: Vec<_> = same.collect();
        let start = all.iter().rposition(|spec| !spec.is_added).unwrap_or(0);
        for spec in &all[start..] {
            words(&spec.words, LINKS.contains(&name), &mut out);
        }
    }
    out
}

fn words<'a>(words: &[SpecsWord<'a>], is_link: bool, out: &mut Vec<SpecsName<'a>>) {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut add = |line, text, kind| out.push(SpecsName { line, text, kind });
        let is_word = |flag: &&&str| flag.as_bytes() == word.text;
        if OTHERS.iter().any(|flag| flag.as_bytes() == word.text) {
            words.next();
        } else if let Some(flag) = PATHS.iter().find(is_word) {
            let Some(path) = words.next() else { break };
            for part in path.text.split(|b| *b == b':') {
                add(path.line, part, flag_kind(flag, is_link));
            }
        } else if word.text.starts_with(b"/") {
            add(word.line, word.text, SpecsNameKind::File);
        } else if word.text.starts_with(b"-l") && word.text.len() > 2 {
            if is_link && !OWN.contains(&word.text) {
                add(word.line, word.text, SpecsNameKind::Library);
            }
        } else if let Some((flag, rest)) = flag_with_path(word.text) {
            for part in rest.split(|b| *b == b':') {
                add(word.line, part, flag_kind(flag, is_link));
            }
        }
    }
}

/// The flag and the path in one word: `-L/dir`, `-rpath=/dir`. `None` for other words.
fn flag_with_path(word: &[u8]) -> Option<(&'static str, &[u8])> {
    PATHS.iter().find_map(|flag| {
        let rest = word.strip_prefix(flag.as_bytes())?;
        let rest = rest.strip_prefix(b"=").unwrap_or(rest);
        rest.starts_with(b"/").then_some((*flag, rest))
    })
}

fn flag_kind(flag: &'static str, is_link: bool) -> SpecsNameKind {
    if is_link && ["-B", "-L", "-rpath"].contains(&flag) {
        SpecsNameKind::LinkFlag(flag)
    } else {
        SpecsNameKind::Flag
    }
}
