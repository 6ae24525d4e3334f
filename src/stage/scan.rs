//! One directory as ldconfig reads it (`elf/ldconfig.c`, `search_dir` and `create_links`): for
//! every soname, the file to which the link with that name points.

use crate::facts::read;
use crate::format::Reading;
use crate::format::elf::{Role, machine};
use crate::id::FastMap;
use crate::order::Arrange as _;
use crate::parallel;
use crate::resolve::cache::compare;
use crate::tree::{DirEntryKind, EntryType, Handle, Opened, Tree};
use object::elf;
use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A library of one directory.
pub(super) struct Library {
    /// The soname; the file name if the library has no soname or `is_link` is true.
    pub(super) soname: Vec<u8>,
    /// The file name.
    pub(super) name: OsString,
    /// The flags of the library's cache entry.
    pub(super) flags: i32,
    /// The x86 ISA level that the library demands, minus one.
    pub(super) isa_level: u8,
    /// True for a link whose name is the soname or the linker's name, such as `libfoo.so`. ldconfig
    /// then makes no link itself.
    is_link: bool,
}

/// The family of `machine`: one ldconfig accepts all machines of a family (`process_elf_file` of
/// each system).
pub(super) fn family(machine: u16) -> u16 {
    match elf::Machine(machine) {
        elf::EM_386 => elf::EM_X86_64.0,
        elf::EM_ARM => elf::EM_AARCH64.0,
        elf::EM_PPC => elf::EM_PPC64.0,
        elf::EM_SPARC | elf::EM_SPARC32PLUS => elf::EM_SPARCV9.0,
        elf::Machine(other) => other,
    }
}

/// True for a name that a library or a loader may have (`_dl_is_dso`, `skip_dso_based_on_name`).
pub(super) fn may_be_library(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let begins = |start: &[u8]| name.starts_with(start);
    let is_library =
        (begins(b"lib") || begins(b"ld-")) && memchr::memmem::find(name, b".so").is_some();
    let is_temporary = memchr::memmem::find(name, b".#prelink#").is_some()
        || name.contains(&b';')
        || name.ends_with(b".dpkg-new")
        || name.ends_with(b".dpkg-tmp");
    (is_library || begins(b"ld.so.") || begins(b"ld64.so.")) && !is_temporary
}

/// The libraries of the directory at `dir` for the machine family `of`, one for each soname, in
/// byte order of the sonames.
pub(super) fn libraries(tree: &dyn Tree, dir: &Path, of: u16) -> Vec<Library> {
    let mut names: Vec<(OsString, bool)> = Vec::new();
    // After an error, the names listed before it are still used.
    let _ = tree.list(dir, &mut |name, node| {
        let may = matches!(node, DirEntryKind::Link | DirEntryKind::Kind(EntryType::File));
        if may && may_be_library(name) {
            names.push((name.to_owned(), node == DirEntryKind::Link));
        }
    });
    names.arrange();
    let read = parallel::map(&names, |(name, link)| library(tree, dir, name, *link, of));
    let mut at: FastMap<Vec<u8>, usize> = FastMap::default();
    let mut out: Vec<Library> = Vec::new();
    for library in read.into_iter().flatten() {
        match at.get(&library.soname) {
            None => {
                at.insert(library.soname.clone(), out.len());
                out.push(library);
            }
            Some(known) => {
                let known = &mut out[*known];
                let newer =
                    || compare(known.name.as_bytes(), library.name.as_bytes()) == Ordering::Less;
                let wins = if known.is_link == library.is_link { newer() } else { known.is_link };
                if wins {
                    // The flags of the first library with this soname stay.
                    (known.name, known.is_link) = (library.name, library.is_link);
                    known.isa_level = library.isa_level;
                }
            }
        }
    }
    out.arrange_by(|a, b| a.soname.cmp(&b.soname));
    out
}

/// The library with the file name `name`, if ldconfig accepts the file.
fn library(tree: &dyn Tree, dir: &Path, name: &OsStr, link: bool, of: u16) -> Option<Library> {
    let path = dir.join(name);
    let Ok(Opened::File(handle)) = tree.open(&path) else { return None };
    let read = read::read(&handle, Reading { lean: true, ..Reading::default() });
    let object = read.object()?;
    if object.role == Role::Broken || object.header.kind != elf::ET_DYN.0 || !object.is_dynamic() {
        return None;
    }
    let target = object.header.target();
    if family(target.machine) != of {
        return None;
    }
    let flags = machine::of(target)?.cache_flags.first().copied()?;
    let soname = object.soname().unwrap_or(name.as_bytes());
    // ldconfig treats a link with any other name as a regular file.
    let is_link = link && (name.as_bytes() == soname || is_linker_name(name.as_bytes(), soname));
    let soname = if is_link { name.as_bytes().to_vec() } else { soname.to_vec() };
    let isa_level = object.isa_level;
    Some(Library { soname, name: name.to_owned(), flags, isa_level, is_link })
}

/// True for the linker's name of a library: `libfoo.so` for the soname `libfoo.so.1`.
fn is_linker_name(name: &[u8], soname: &[u8]) -> bool {
    name.ends_with(b".so") && soname.starts_with(name)
}

/// The link that ldconfig makes for a library in the directory at `dir`, with its target. `None` if
/// the link exists, or if ldconfig makes none.
pub(super) fn link(tree: &dyn Tree, dir: &Path, library: &Library) -> Option<(PathBuf, PathBuf)> {
    if library.is_link {
        return None;
    }
    let link = dir.join(OsStr::from_bytes(&library.soname));
    // A soname with a slash cannot name an entry of the directory.
    if library.soname.contains(&b'/') {
        return None;
    }
    let identity = |path: &Path| tree.look(path).ok().map(|(_, stat)| (stat.dev, stat.ino));
    let is_made = match tree.node(&link) {
        Ok(DirEntryKind::Link) => {
            let there = identity(&link);
            there.is_none() || there != identity(&dir.join(&library.name))
        }
        Ok(DirEntryKind::Kind(_)) => false,
        Err(_) => true,
    };
    is_made.then(|| (link, PathBuf::from(&library.name)))
}

/// The EM_ constant of an ELF file; `None` for other files.
pub(super) fn machine_of(file: &Handle) -> Option<u16> {
    let read = read::read(file, Reading { lean: true, ..Reading::default() });
    Some(read.object()?.header.machine)
}
