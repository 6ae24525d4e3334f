//! Collects the facts that archive coverage needs about an object. For a linked object, these are
//! the names that it leaves undefined under any entry point, and the definitions in its libraries.
//! For a relocatable object, these are its symbols.

use super::Audit;
use crate::bind::RelocationMessage;
use crate::cover::ReferringFile;
use crate::diagnosis::FirstLoader;
use crate::facts::Content;
use crate::format::archive::{MemberSymbol, SymbolKind};
use crate::format::elf::tables::Symbol;
use crate::format::elf::{NeedKind, Object, RefKind};
use crate::id::{FileId, RootId};
use crate::order::Arrange as _;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Symbols that glibc's `libc_nonshared.a` defines. Every link with glibc's `libc.so` reads this
/// archive.
pub const LIBC_NONSHARED: &[&[u8]] =
    &[b"__stack_chk_fail_local", b"at_quick_exit", b"atexit", b"pthread_atfork"];

/// Libraries with companions: whenever one of these libraries is linked, its companions are linked
/// too. Each row has the start of the library's soname, and the starts of the sonames of its
/// companions. `libc.so` is a linker script that names the loader. `libc++.so` is a linker script
/// that names its ABI library and, on Debian, LLVM's unwinder. `libgfortran.spec` names
/// `libquadmath`.
const COMPANIONS: &[(&[u8], &[&[u8]])] = &[
    (b"libc.so.", &[b"ld-linux", b"ld64.so.", b"ld.so.", b"libgcc_s.so."]),
    (b"libc++.so.", &[b"libc++abi.so.", b"libm.so.", b"libunwind.so.1"]),
    (b"libgfortran.so.", &[b"libm.so.", b"libquadmath.so."]),
    (b"libstdc++.so.", &[b"libm.so."]),
];

/// The libraries that a process loads together with some objects.
#[derive(Clone)]
pub struct Libraries<'a> {
    objects: Vec<(FileId, &'a Object)>,
}

impl<'a> Libraries<'a> {
    /// Adds libraries that a fix links. Libraries that are in `self` already are skipped.
    pub fn add(&mut self, audit: &'a Audit, files: &[FileId]) {
        let new = files.iter().filter(|file| !self.contain(**file));
        let object = |file: &FileId| Some((*file, audit.corpus.files[*file].object()?));
        let new: Vec<(FileId, &Object)> = new.filter_map(object).collect();
        self.objects.extend(new);
    }

    /// True if a linker finds a definition of `name` in one of the libraries.
    pub fn define(&self, name: &[u8]) -> bool {
        // `libc.so` is a linker script that adds an archive to glibc's shared library.
        let is_libc = |object: &Object| object.soname() == Some(b"libc.so.6");
        let has_libc = || self.objects.iter().any(|(_, object)| is_libc(object));
        self.definer(name).is_some() || LIBC_NONSHARED.contains(&name) && has_libc()
    }

    /// The libraries, in the order in which they are loaded.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter().map(|(_, object)| *object)
    }

    /// True if `file` is one of the libraries.
    pub fn contain(&self, file: FileId) -> bool {
        self.objects.iter().any(|(one, _)| *one == file)
    }

    /// The first definition of `name` that a linker finds in the libraries; `None` if there is
    /// none.
    pub fn definition(&self, name: &[u8]) -> Option<Symbol<'_>> {
        self.objects.iter().find_map(|(_, object)| object.link_definition(name))
    }

    /// The first library in which a linker finds a definition of `name`.
    pub fn definer(&self, name: &[u8]) -> Option<FileId> {
        let found = self.objects.iter().find(|(_, object)| object.satisfies_link(name));
        found.map(|(file, _)| *file)
    }
}

/// The references of a linked object to names that it does not define. If `versioned` is set, a
/// name with a version is spelled `name@version`, as linkers spell it for their inputs.
pub fn link_references(object: &Object, versioned: bool) -> Vec<(Box<[u8]>, SymbolKind)> {
    let references = object.references.iter().filter_map(|reference| {
        let kind = match reference.kind {
            RefKind::Strong | RefKind::Canonical => SymbolKind::Undefined,
            RefKind::Weak => SymbolKind::WeakUndefined,
            RefKind::Copy { .. } | RefKind::Unhashed => return None,
        };
        let mut name = object.reference_name(reference).to_vec();
        let entry = object.versions.entry(reference.version);
        if let Some(entry) = entry.filter(|_| versioned) {
            name.push(b'@');
            name.extend_from_slice(object.str(entry.name));
        }
        Some((name.into(), kind))
    });
    references.collect()
}

impl Audit {
    /// The references in `file` that archives may satisfy. `None` if the file is neither an
    /// object nor LLVM bitcode, or cannot be read.
    ///
    /// If `input` is set, a shared object counts as an input of a link: the result has all
    /// references of the object. Otherwise, it has only the references that stay undefined at load.
    pub fn cover_root(&self, file: FileId, input: bool) -> Option<ReferringFile> {
        let facts = &self.corpus.files[file];
        let object = match &facts.content {
            Content::Elf(object) => Some(&**object),
            Content::Other(_) => None,
            Content::Archive(_) => return None,
        };
        let linked = object.filter(|object| object.is_dynamic());
        let (mut hidden, mut lto, mut opaque) = (Vec::<Box<[u8]>>::new(), false, None);
        let (mut unexported, mut beside_weak) = (Vec::new(), Vec::new());
        let (mut default_versions, mut unlisted) = (Vec::new(), Vec::new());
        let symbols = if let Some(object) = linked {
            match input {
                true if object.header.has_sections() => link_references(object, true),
                true => Vec::new(),
                false => self.linked_symbols(file, object),
            }
        } else {
            let members = self.corpus.members(file).ok()?;
            let only = members.list.first().filter(|_| members.damage.is_empty())?;
            let is_other = object.is_none() && !only.kind.is_lto();
            opaque = only.is_opaque().then_some(only.kind);
            if is_other || only.is_unknown() && opaque.is_none() {
                return None;
            }
            lto = only.kind.is_lto();
            let symbols = members.symbols(only).iter();
            let names = self.corpus.symbol_names();
            let select = |is_wanted: fn(&MemberSymbol) -> bool| {
                let wanted = symbols.clone().filter(|symbol| is_wanted(symbol));
                let mut out: Vec<Box<[u8]>> = wanted.map(|s| names.text(s.name).into()).collect();
                out.arrange();
                out
            };
            hidden = select(MemberSymbol::is_restricted);
            unexported = select(MemberSymbol::is_unexported);
            beside_weak = select(|symbol| symbol.beside_weak);
            let versions = members.default_versions(only);
            unlisted = members.unlisted(only).collect();
            default_versions = versions.map(|(name, symbol)| (name.into(), symbol.kind)).collect();
            symbols.map(|symbol| (names.text(symbol.name).into(), symbol.kind)).collect()
        };
        let target = object.map(|object| object.header.target());
        let path = Arc::clone(&facts.path);
        let linked = linked.is_some();
        Some(ReferringFile {
            path,
            linked,
            input,
            lto,
            opaque,
            target,
            symbols,
            default_versions,
            unlisted,
            hidden,
            unexported,
            beside_weak,
        })
    }

    /// The symbols that a linked object leaves undefined under any entry point, sorted by name.
    fn linked_symbols(&self, file: FileId, object: &Object) -> Vec<(Box<[u8]>, SymbolKind)> {
        let mut undefined: BTreeSet<&[u8]> = BTreeSet::new();
        for (closure, binding) in self.closures.roots.iter().zip(&self.bindings) {
            for (module, reports) in &binding.reports {
                if closure.module(*module).file != Some(file) {
                    continue;
                }
                undefined.extend(reports.iter().filter_map(|report| match report {
                    RelocationMessage::Undefined { symbol, .. } => {
                        Some(object.symbol_name(*symbol))
                    }
                    RelocationMessage::Size { .. } | RelocationMessage::Protected { .. } => None,
                }));
            }
        }
        undefined.into_iter().map(|name| (name.into(), SymbolKind::Undefined)).collect()
    }

    /// The libraries that `file` needs directly, as found under the first entry point that loads
    /// it. Empty if no entry point loads `file`. The error is the name of a needed library that was
    /// not found.
    pub fn needed_by(&self, file: FileId) -> Result<Vec<FileId>, &[u8]> {
        let Some(root) = FirstLoader::new(&self.closures).of(file) else { return Ok(Vec::new()) };
        let closure = &self.closures.roots[root];
        let module = closure.found().find(|(_, found)| *found == file);
        let needs = module.into_iter().flat_map(|(module, _)| closure.needs(module));
        let mut out: Vec<FileId> = Vec::new();
        for edge in needs {
            let library = closure.module(edge.to).file.ok_or_else(|| self.text(edge.raw))?;
            if !out.contains(&library) {
                out.push(library);
            }
        }
        Ok(out)
    }

    /// The names in DT_NEEDED of `file`, each with the library that the loader finds under the
    /// first entry point that loads `file`. The library is `None` if it was not found. Empty if no
    /// entry point loads `file`.
    pub fn needs_of(&self, loaders: &FirstLoader, file: FileId) -> Vec<(&[u8], Option<FileId>)> {
        let Some(loaded) = loaders.loaded(file) else { return Vec::new() };
        let closure = &self.closures.roots[loaded.root];
        let needs = closure.needs(loaded.module).iter();
        let needs = needs.filter(|edge| edge.kind == NeedKind::Needed);
        needs.map(|edge| (self.text(edge.raw), closure.module(edge.to).file)).collect()
    }

    /// The libraries in which a linker would find definitions for `file`: those that `file` needs
    /// directly, the C library that a compiler adds ([`Self::implied_libc`]), and the companions of
    /// both in `COMPANIONS`. If a needed library was not found, the result is the same as from
    /// [`Self::libraries_of`].
    pub fn linked_libraries(&self, file: FileId) -> Libraries<'_> {
        let mut out = self.libraries_of(&[file]);
        let Ok(mut needed) = self.needed_by(file) else { return out };
        needed.extend(self.implied_libc(file));
        let direct = out.objects.iter().filter(|(library, _)| needed.contains(library));
        let direct: Vec<&[u8]> = direct.filter_map(|(_, object)| object.soname()).collect();
        let is_used = |with: &[u8]| direct.iter().any(|soname| soname.starts_with(with));
        let used = COMPANIONS.iter().filter(|(with, _)| is_used(with));
        let companions: Vec<&[u8]> = used.flat_map(|(_, more)| more.iter().copied()).collect();
        let is_companion = |object: &Object| {
            let soname = object.soname().unwrap_or_default();
            companions.iter().any(|begin| soname.starts_with(begin))
        };
        out.objects.retain(|(library, object)| needed.contains(library) || is_companion(object));
        out
    }

    /// The objects that a process loads together with one of `files`, without `files` themselves.
    /// For each file, only the first entry point that loads it counts. The C library that a
    /// compiler adds to the link of a file ([`Self::implied_libc`]) comes last.
    pub fn libraries_of(&self, files: &[FileId]) -> Libraries<'_> {
        let loaders = FirstLoader::new(&self.closures);
        let mut roots: Vec<RootId> = files.iter().filter_map(|file| loaders.of(*file)).collect();
        roots.arrange();
        roots.dedup();
        let mut objects = Vec::new();
        for root in roots {
            let closure = &self.closures.roots[root];
            let others = closure.found().filter(|(_, found)| !files.contains(found));
            let object = |found: FileId| Some((found, self.corpus.files[found].object()?));
            objects.extend(others.filter_map(|(_, found)| object(found)));
        }
        let mut out = Libraries { objects };
        for libc in files.iter().filter_map(|file| self.implied_libc(*file)) {
            out.add(self, &[libc]);
        }
        out
    }
}
