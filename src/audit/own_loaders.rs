//! Finds the dynamic loader beside each libc.so.6. glibc's libc.so.6 and ld.so are two parts of one
//! build: they share private structures, and a libc.so.6 fails under the ld.so of another build. If
//! a process loads a libc.so.6 with an ld.so of another directory, this module reads the ld.so
//! beside the libc.so.6. Two loaders with the same contents count as the same build: an image
//! without links may have copies of one loader.

use super::binding::ResolvedClosures;
use crate::facts::collect::Collector;
use crate::facts::{Corpus, Need, PathState};
use crate::id::{FastMap, FileId, IdSet};
use crate::plan::Plan;
use crate::resolve::LOADER;
use crate::resolve::loader::Family;
use crate::text::last_part;
use crate::tree::{Handle, Opened, Tree};
use crate::wants::Wants;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// glibc's C library, by soname.
const LIBC: &[u8] = b"libc.so.6";
/// Maximum size, in bytes, of loaders whose contents are compared. glibc's loader has 0.3 MB.
const MOST: u64 = 64 << 20;

/// For each pair of a libc.so.6 and a loader that loads it from another directory, finds the
/// loader beside the libc.so.6. A pair is omitted if both loaders have the same contents.
pub(super) fn find(
    plan: &Plan,
    tree: &dyn Tree,
    corpus: &mut Corpus,
    collector: &mut Collector<'_>,
    resolved: ResolvedClosures<'_>,
) -> FastMap<(FileId, FileId), FileId> {
    if !plan.rule_wants.holds(Wants::OWN_LOADERS) {
        return FastMap::default();
    }
    let pairs = pairs(corpus, resolved);
    let needs = pairs.iter().filter_map(|pair| {
        let path = beside(corpus, *pair)?;
        corpus
            .place(path.as_os_str().as_bytes())
            .is_none()
            .then(|| Need::path(path.into_os_string().into_encoded_bytes(), None))
    });
    let needs: Vec<Need> = needs.collect();
    if !needs.is_empty() {
        collector.answer(corpus, needs);
    }
    let found = pairs.into_iter().filter_map(|pair| {
        let path = beside(corpus, pair)?;
        match corpus.place(path.as_os_str().as_bytes())? {
            PathState::File(own) if !is_same(tree, corpus, own, pair.loader) => {
                Some(((pair.libc, pair.loader), own))
            }
            _ => None,
        }
    });
    found.collect()
}

/// A libc.so.6 and a loader that loads it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair<'a> {
    libc: FileId,
    loader: FileId,
    /// The file name by which the loader is started.
    name: &'a [u8],
}

/// Each pair of a libc.so.6 and the loader of an entry point that loads this libc.so.6.
fn pairs<'a>(corpus: &Corpus, resolved: ResolvedClosures<'a>) -> BTreeSet<Pair<'a>> {
    let is_libc = |file: &FileId| {
        corpus.files[*file].object().and_then(|object| object.soname()) == Some(LIBC)
    };
    let mut libcs = IdSet::default();
    libcs.extend(corpus.files.ids().filter(is_libc));
    let mut out = BTreeSet::new();
    for closure in &resolved.closures.roots {
        let rules = resolved.resolver.loaders.get(closure.root.loader);
        if rules.family != Family::Glibc {
            continue;
        }
        let name = last_part(resolved.resolver.strings.text(rules.path));
        let Some(loader) = closure.module(LOADER).file else { continue };
        let files = closure.in_scope().map(|(_, file)| file);
        let found = files.filter(|file| libcs.contains(*file));
        out.extend(found.map(|libc| Pair { libc, loader, name }));
    }
    out
}

/// The path at which the libc's own loader would be: in the libc's directory, under the name by
/// which the loader is started. `None` if the loader itself is in that directory.
fn beside(corpus: &Corpus, Pair { libc, loader, name }: Pair<'_>) -> Option<PathBuf> {
    let directory: &Path = corpus.files[libc].real.parent()?;
    let is_there = corpus.files[loader].real.parent() == Some(directory);
    (!is_there).then(|| directory.join(OsStr::from_bytes(name)))
}

/// True if both files have the same contents, or are one file. False if one of them cannot be read
/// or has more than `MOST` bytes.
fn is_same(tree: &dyn Tree, corpus: &Corpus, one: FileId, other: FileId) -> bool {
    let open = |file: FileId| match tree.open(&corpus.files[file].path) {
        Ok(Opened::File(handle)) if handle.stat().len <= MOST => Some(handle),
        _ => None,
    };
    let bytes = |handle: &Handle| handle.read_new(usize::try_from(handle.stat().len).ok()?, 0).ok();
    let is_copy = || {
        let (one, other) = (open(one)?, open(other)?);
        let is_as_long = one.stat().len == other.stat().len;
        Some(is_as_long && bytes(&one)? == bytes(&other)?)
    };
    one == other || is_copy() == Some(true)
}
