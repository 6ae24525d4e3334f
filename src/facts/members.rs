//! Members of archives, read on demand, and the files that may be opened for the members of thin
//! archives.

use super::{Content, Corpus, FileFacts, NOT_AGAIN, Need};
use crate::format::archive::{
    self, ArchiveSymbolIndex, DependentLibraries, External, LinkFacts, LinkFactsReader,
    LinkScratch, Member, MemberKind, Members, Options, RelocationFilter, Scratch,
};
use crate::format::{Defect, Table};
use crate::id::FileId;
use crate::parallel;
use crate::symbol_names::{Growing, SymbolNames};
use crate::tree::{Errno, Handle, Opened, Tree};
use rayon::prelude::*;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Estimated size of an archive in bytes for each name in it, as in LLVM's archives. The estimate
/// sizes the table of names: a table that outgrows its room exists twice while it is copied.
const BYTES_A_NAME: u64 = 2048;
/// Estimated number of names in archives for each name that a run stores. Most runs store only
/// names that members refer to.
const NAMES_FOR_ONE_REFERRED_TO: usize = 8;
/// Maximum number of names for which room is reserved.
const MOST_EXPECTED: usize = 1 << 19;

thread_local! {
    /// Buffers that a worker reuses across archives.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
    /// Buffers for the parts of members that a linker needs.
    static LINK_SCRATCH: RefCell<LinkScratch> = RefCell::default();
}

/// The source of members, and the parts to read.
#[derive(Clone, Copy)]
pub(super) struct MemberSource<'a> {
    pub(super) tree: &'a dyn Tree,
    /// Directories below which files of thin archives are opened.
    pub(super) allowed: &'a [PathBuf],
    pub(super) index: bool,
    /// True to keep the names of all definitions, even of those without a known reference.
    pub(super) names: bool,
    /// Names that later stages will look up, besides the names that members refer to.
    pub(super) asked: &'a [Box<[u8]>],
}

/// Answers all needs for members. The largest archive is read first, because it takes longest.
pub(super) fn answer(source: MemberSource<'_>, corpus: &mut Corpus, needs: &[Need]) {
    let wanted = needs.iter().filter_map(|need| match need {
        Need::Members(file) if !corpus.members.contains_key(file) => Some(*file),
        _ => None,
    });
    let mut wanted: Vec<FileId> = wanted.collect();
    if wanted.is_empty() {
        return;
    }
    wanted.sort_by_key(|file| std::cmp::Reverse(corpus.files[*file].stat.len));
    let size: u64 = wanted.iter().map(|file| corpus.files[*file].stat.len).sum();
    let expected = usize::try_from(size / BYTES_A_NAME).unwrap_or(MOST_EXPECTED);
    let names = std::mem::take(&mut corpus.symbol_names);
    let expected = if source.names { expected } else { expected / NAMES_FOR_ONE_REFERRED_TO };
    let names = Arc::unwrap_or_clone(names).open(expected.min(MOST_EXPECTED), source.names);
    for name in source.asked {
        names.add_one(name);
    }
    let files = &corpus.files;
    let one = |file: &FileId| (*file, read(source, &names, &files[*file]));
    let mut done: Vec<(FileId, Option<Members>)> = parallel::map_single(&wanted, one);
    let names = names.close();
    done.par_iter_mut().with_max_len(1).for_each(|(file, members)| {
        let named = |members: &mut Members| name_all(source.tree, &files[*file], members, &names);
        *members = members.take().and_then(|mut members| named(&mut members).then_some(members));
    });
    corpus.symbol_names = Arc::new(names);
    for (file, members) in done {
        if members.is_none() {
            corpus.files[file].defects.push(Defect::new(Table::File, 0, NOT_AGAIN));
        }
        // Defects of an archive member are reported with its archive. Defects of a separate object
        // are reported here.
        if let (Some(members), Content::Elf(_)) = (&members, &corpus.files[file].content) {
            let damage = members.damage.iter().map(|damage| damage.defect.clone());
            corpus.files[file].defects.extend(damage);
        }
        corpus.members.insert(file, Arc::new(members.unwrap_or_default()));
    }
}

/// Reads the deferred names: the names of definitions to which no reference was known while the
/// members were read. False if the file cannot be read again.
fn name_all(
    tree: &dyn Tree,
    facts: &FileFacts,
    members: &mut Members,
    names: &SymbolNames,
) -> bool {
    let nameless = members.nameless(names);
    nameless.is_empty()
        || open(tree, facts).is_some_and(|file| members.name_all(&file, &nameless, names).is_ok())
}

/// A file that was opened again, to read the facts that a linker needs from its objects.
pub struct LinkFile<'a> {
    tree: &'a dyn Tree,
    facts: &'a FileFacts,
    handle: Handle,
}

impl<'a> LinkFile<'a> {
    /// Opens a file that was read before; `None` if it has changed or cannot be opened.
    pub fn open(tree: &'a dyn Tree, facts: &'a FileFacts) -> Option<Self> {
        Some(Self { tree, facts, handle: open(tree, facts)? })
    }

    /// The symbol index of the file, which must be an archive. `None` if the file cannot be read,
    /// or if GNU ld cannot read the index.
    pub fn index(&self) -> Option<ArchiveSymbolIndex> {
        archive::gnu_index(&self.handle).ok().flatten()
    }

    /// The facts of the file itself, which must be a relocatable object. `None` if they cannot be
    /// read.
    pub fn object(&self, wanted: RelocationFilter<'_>) -> Option<LinkFacts> {
        let read = |reader: &mut LinkFactsReader<'_>| reader.object(&self.handle).ok().flatten();
        LINK_SCRATCH.with_borrow_mut(|scratch| read(&mut LinkFactsReader { wanted, scratch }))
    }

    /// The dependent libraries of the file itself, or of a member of the archive; `None` if they
    /// cannot be read. As in [`Self::member`], the member was read before.
    pub fn dependent_libraries(
        &self,
        of: Option<(&Members, &Member)>,
    ) -> Option<DependentLibraries> {
        let anywhere = [PathBuf::from("/")];
        let open = |name: &[u8]| external(self.tree, &anywhere, &self.facts.path, name);
        LINK_SCRATCH.with_borrow_mut(|scratch| match of {
            Some((members, member)) => DependentLibraries::of_member(
                &self.handle,
                member.offset,
                members.thin,
                &open,
                scratch,
            )
            .ok(),
            None => DependentLibraries::of_object(&self.handle, scratch).ok(),
        })
    }

    /// The facts of a member of the archive; `None` if they cannot be read, or if the member is not
    /// a `MemberKind::Object`. The member was read before, so the file of a thin archive's member
    /// may be in any directory.
    pub fn member(
        &self,
        of: (&Members, &Member),
        wanted: RelocationFilter<'_>,
    ) -> Option<LinkFacts> {
        let (members, member) = of;
        if !matches!(member.kind, MemberKind::Object) {
            return None;
        }
        let anywhere = [PathBuf::from("/")];
        let open = |name: &[u8]| external(self.tree, &anywhere, &self.facts.path, name);
        LINK_SCRATCH.with_borrow_mut(|scratch| {
            let mut reader = LinkFactsReader { wanted, scratch };
            reader.member(&self.handle, member.offset, members.thin, &open).ok().flatten()
        })
    }
}

/// Opens a file that was read before; `None` if it has changed or cannot be opened.
fn open(tree: &dyn Tree, facts: &FileFacts) -> Option<Handle> {
    match tree.open(&facts.path) {
        Ok(Opened::File(handle)) if handle.stat() == facts.stat => Some(handle),
        _ => None,
    }
}

/// Reads the members of `facts`; `None` if the file cannot be read again.
fn read(source: MemberSource<'_>, names: &Growing, facts: &FileFacts) -> Option<Members> {
    let MemberSource { tree, allowed, index, .. } = source;
    let handle = open(tree, facts)?;
    let open = |name: &[u8]| external(tree, allowed, &facts.path, name);
    // The index is checked only for audited archives.
    let options = Options { index: index && facts.audited, open: &open, names };
    SCRATCH.with_borrow_mut(|scratch| match &facts.content {
        Content::Archive(_) => archive::members(&handle, &options, scratch).ok(),
        // A need for the members of a file that is neither ELF nor an archive is for LLVM bitcode.
        Content::Elf(_) | Content::Other(_) => archive::object(&handle, &options, scratch).ok(),
    })
}

/// Opens the file of a member of the thin archive at `archive`. `name` is relative to the archive's
/// directory (`bfd/archive.c`, `_bfd_append_relative_path`).
fn external(tree: &dyn Tree, allowed: &[PathBuf], archive: &Path, name: &[u8]) -> External {
    let dir = archive.parent().unwrap_or(Path::new("/"));
    let path = dir.join(OsStr::from_bytes(name));
    let absent = |errno| match errno {
        Errno::NOENT | Errno::NOTDIR => External::Missing,
        _ => External::NoFile("a file that cannot be opened"),
    };
    let real = match tree.real_path(&path) {
        Ok(real) => real,
        Err(errno) => return absent(errno),
    };
    if !allowed.iter().any(|dir| real.starts_with(dir)) {
        return External::Outside;
    }
    match tree.open(&real) {
        Ok(Opened::File(handle)) => External::File(handle),
        Ok(Opened::Directory) => External::NoFile("a directory"),
        Ok(Opened::Special(special)) => External::NoFile(special.describe()),
        Err(errno) => absent(errno),
    }
}
