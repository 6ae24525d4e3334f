//! Caches of ld.so in both formats, with and without the extension, with harmful and harmless
//! changes. The only program of a sysroot finds its library through the cache.

use super::build::build;
use super::case::{Case, Expected, Label};
use super::random::Random;
use super::run::{self, Tally};
use super::shape::{LOADER, Reference, Shape, X86_64};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const OLD_MAGIC: &[u8] = b"ld.so-1.7.0\0";
const HEADER: usize = 48;
const ENTRY: usize = 24;
/// The library that is found through the cache, and its directory.
const LIBRARY: &str = "libother.so.2";
const PLACE: &str = "/opt/other/libother.so.2";

/// A cache, and the offsets of its parts.
struct Cache {
    bytes: Vec<u8>,
    /// Offset of the new format.
    base: usize,
    count: usize,
    strings: (usize, usize),
    /// Offset of the extension.
    extension: Option<usize>,
    /// The entry with a subdirectory of glibc-hwcaps.
    hwcaps: Option<usize>,
}

impl Cache {
    fn draw(random: &mut Random) -> Self {
        let mut names: Vec<String> =
            (0..random.between(0, 60)).map(|at| format!("lib{:02}.so.1", 99 - at)).collect();
        // The order is descending, and digits are above letters.
        names.push(LIBRARY.to_owned());
        let with_hwcaps = random.chance(40);
        let old = random.chance(30);
        let mut out = Vec::new();
        if old {
            // The old format with nothing in it, before the new one.
            out.extend(OLD_MAGIC);
            out.extend(0_u32.to_le_bytes());
        }
        let base = out.len();
        let with_hwcaps = with_hwcaps && base == 0;
        let mut entries: Vec<(String, String, u64)> = Vec::new();
        for name in &names {
            if name == LIBRARY && with_hwcaps {
                let path = "/opt/other/glibc-hwcaps/none/libother.so.2".to_owned();
                entries.push((name.clone(), path, 0x4000_0000 << 32));
            }
            let path = if name == LIBRARY { PLACE.to_owned() } else { format!("/gone/{name}") };
            entries.push((name.clone(), path, 0));
        }
        let mut strings = Vec::new();
        let start = HEADER + entries.len() * ENTRY;
        let mut add = |text: &str| {
            let at = start + strings.len();
            strings.extend(text.bytes().chain([0]));
            at as u32
        };
        let mut body = Vec::new();
        let level = with_hwcaps.then(|| add("none"));
        for (name, path, hwcap) in &entries {
            let flags =
                if name == LIBRARY { 0x303 } else { *random.pick(&[0x303_u32, 0x3, 0x803]) };
            for word in [flags, add(name), add(path), 0] {
                body.extend(word.to_le_bytes());
            }
            body.extend(hwcap.to_le_bytes());
        }
        out.extend(MAGIC);
        out.extend((entries.len() as u32).to_le_bytes());
        out.extend((strings.len() as u32).to_le_bytes());
        out.extend([*random.pick(&[0, 2]), 0, 0, 0]);
        let end = (base + start + strings.len()).next_multiple_of(4);
        let with_extension = base == 0 && (with_hwcaps || random.chance(40));
        out.extend(if with_extension { end as u32 } else { 0 }.to_le_bytes());
        out.resize(base + HEADER, 0);
        out.extend(body);
        let strings_at = (out.len(), strings.len());
        out.extend(strings);
        if with_extension {
            out.resize(end, 0);
            // The section of the generator, which nothing reads, and that of the subdirectories.
            let words = [0xeaa4_2174_u32, 2, 0, 0, end as u32 + 40, 8, 1, 0, end as u32 + 48];
            for word in words {
                out.extend(word.to_le_bytes());
            }
            out.extend(if with_hwcaps { 4_u32 } else { 0 }.to_le_bytes());
            out.extend(b"ldconfig");
            out.extend(level.map(u32::to_le_bytes).into_iter().flatten());
        }
        let hwcaps = with_hwcaps.then(|| entries.iter().position(|e| e.2 > 0).expect("one"));
        let extension = with_extension.then_some(end);
        Self { bytes: out, base, count: entries.len(), strings: strings_at, extension, hwcaps }
    }

    fn word(&mut self, at: usize, value: u32) {
        self.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn entry(&self, number: usize) -> usize {
        self.base + HEADER + number * ENTRY
    }
}

type Operation = fn(&mut Random, &mut Cache) -> bool;

const HARM: &[(&str, Operation)] = &[
    ("cache-empty", |_, cache| {
        cache.bytes.clear();
        true
    }),
    ("cache-magic", |random, cache| {
        let at = cache.base + random.below(MAGIC.len());
        cache.bytes[at] ^= 1;
        cache.base == 0
    }),
    ("cache-cut-in-header", |random, cache| {
        cache.bytes.truncate(random.between(1, HEADER - 1));
        cache.base == 0
    }),
    ("cache-cut-in-entries", |random, cache| {
        cache.bytes.truncate(random.between(cache.entry(0), cache.strings.0));
        true
    }),
    ("cache-cut-in-strings", |random, cache| {
        let (at, size) = cache.strings;
        cache.bytes.truncate(random.between(at, at + size - 1));
        true
    }),
    ("cache-count", |random, cache| {
        let many = (cache.bytes.len() / ENTRY) as u32 + 1;
        cache.word(cache.base + 20, *random.pick(&[many, 0x7fff_ffff, 0xffff_ffff]));
        true
    }),
    ("cache-string-outside", |random, cache| {
        let field = cache.entry(random.below(cache.count)) + random.pick(&[4, 8]);
        cache.word(field, *random.pick(&[0x7fff_0000, 0xffff_fff0, 0x00ff_ffff]));
        true
    }),
    ("cache-no-nul", |_, cache| {
        let end = cache.strings.0 + cache.strings.1;
        cache.bytes.truncate(end);
        cache.bytes[end - 1] = b'x';
        cache.extension.is_none()
    }),
    ("cache-byte-order", |_, cache| {
        cache.bytes[cache.base + 28] = 3;
        true
    }),
    ("cache-extension-outside", |random, cache| {
        let end = cache.bytes.len() as u32;
        cache.word(32, *random.pick(&[end.next_multiple_of(4) + 64, 0x7fff_0000, 0xffff_fff0]));
        cache.hwcaps.is_some()
    }),
    ("cache-extension-magic", |_, cache| {
        let Some(at) = cache.extension else { return false };
        cache.word(at, 0x1234_5678);
        cache.hwcaps.is_some()
    }),
    ("cache-extension-section", |random, cache| {
        let Some(at) = cache.extension else { return false };
        let field = at + random.pick(&[32, 36]);
        cache.word(field, *random.pick(&[0x7fff_0000, 0xffff_fff0]));
        cache.hwcaps.is_some()
    }),
    ("cache-extension-cut", |random, cache| {
        let Some(at) = cache.extension else { return false };
        let len = random.between(at, cache.bytes.len() - 1);
        cache.bytes.truncate(len);
        cache.hwcaps.is_some()
    }),
    ("cache-hwcaps-index", |random, cache| {
        let Some(number) = cache.hwcaps else { return false };
        cache.word(cache.entry(number) + 16, *random.pick(&[1, 77, 0xffff_ffff]));
        true
    }),
];

const ODD: &[(&str, Operation)] = &[
    ("cache", |_, _| true),
    ("cache-tail", |random, cache| {
        let tail = random.between(1, 5000);
        cache.bytes.extend((0..tail).map(|at| at as u8));
        true
    }),
    ("cache-unused-fields", |random, cache| {
        // The three words behind the place of the extension, and osversion of an entry.
        cache.word(cache.base + 36 + 4 * random.below(3), 0x1234_5678);
        let at = cache.entry(random.below(cache.count)) + 12;
        cache.word(at, 0x0506_0708);
        true
    }),
    ("cache-extension-of-others", |_, cache| {
        let Some(at) = cache.extension else { return false };
        // The first section has a tag that nothing knows.
        cache.word(at + 8, 77);
        true
    }),
];

/// The case of this number, and the cache.
pub fn case(number: usize, random: &mut Random) -> (Case, Vec<u8>) {
    let (list, label) = if number % 3 == 2 {
        (ODD, Label::Clean)
    } else {
        (HARM, Label::Reported(Expected { rule: Some("malformed"), at: None }))
    };
    loop {
        let mut cache = Cache::draw(random);
        let (operation, change) = list[number / 3 % list.len()];
        if change(random, &mut cache) {
            return (Case { operation, label, files: Vec::new() }, cache.bytes);
        }
    }
}

/// A sysroot with a program that finds its library only through the cache.
fn root(dir: &Path) {
    let write = |name: &str, bytes: &[u8]| {
        let path = dir.join(name.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(&path, bytes).expect("a file");
        let all = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, all).expect("a file of ours");
    };
    write(LOADER, &std::fs::read(LOADER).expect("the loader of this machine"));
    let mut app = Shape::library(X86_64, "app");
    (app.interp, app.soname) = (Some(LOADER), None);
    app.needs.push(LIBRARY.to_owned());
    app.references.push(Reference { name: "other".to_owned(), weak: true, version: None });
    write("bin/app", &build(&app).bytes);
    write(PLACE, &build(&Shape::library(X86_64, LIBRARY)).bytes);
    write("etc/ld.so.cache", b"");
}

/// Runs the cases of these numbers, one after the other in one root.
pub fn run(numbers: std::ops::Range<usize>, random: fn(usize) -> Random) -> Tally {
    let lab = crate::support::scratch::tempdir().expect("a directory");
    let dir = lab.path().canonicalize().expect("a directory");
    root(&dir);
    let mut tally = Tally::default();
    for number in numbers {
        let (case, bytes) = case(number, &mut random(number));
        std::fs::write(dir.join("etc/ld.so.cache"), bytes).expect("a cache");
        let run = run::run(&dir, &["--root", ".", "bin", "--format", "json", "-j", "1"]);
        let place = format!("cache {number}");
        tally.bound(&place, &run);
        let wanted = if matches!(case.label, Label::Clean) { [0, 0] } else { [1, 3] };
        let found = run::all_findings(&run.stdout);
        let status = run.status.filter(|status| wanted.contains(status));
        let wrong = match status {
            None => Some(format!("status {:?}: {found:?} {}", run.status, run.stderr)),
            Some(_) => run::wrong(&case.label, &found),
        };
        tally.judge(&case, &place, wrong);
    }
    tally
}
