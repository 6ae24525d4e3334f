//! Finds the references of shared objects that a linker reports if no input defines them. For a
//! shared output, linkers check these references only on request. mold 1.10 never checks them.

use super::TypedLink;
use crate::audit::{Audit, link_references};
use crate::cover::{
    Coverage, CoverageQuestion, Link, Linker, LinkerDefined, OutputKind, ReferredBy, ReferringFile,
    UndefinedName, in_order,
};
use crate::diagnosis::FirstLoader;
use crate::format::archive::SymbolKind;
use crate::format::elf::{NeedKind, Object};
use crate::id::{FastMap, FastSet, FileId};
use std::collections::{BTreeMap, VecDeque};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

/// The shared objects of a link, and the libraries behind them: those that GNU ld reads because the
/// shared objects need them.
#[derive(Default)]
pub(super) struct SharedObjects<'a> {
    /// The shared objects among the inputs, each with the index of its root.
    inputs: Vec<(usize, &'a Object)>,
    /// The libraries behind the inputs, in the order in which GNU ld reads them.
    behind: Vec<(Arc<Path>, &'a Object)>,
    /// The libraries that were not found, each with the file that needs it.
    pub(super) missing: Vec<(Box<[u8]>, Arc<Path>)>,
}

/// The inputs of a link: the files, and the roots and objects of the [`CoverageQuestion`].
pub(super) type LinkFiles<'f, 'a> = (&'f [FileId], &'f [ReferringFile], &'f [Option<&'a Object>]);

/// Answers `question` by the rules of the linker, with the references of shared objects that the
/// linker checks.
pub(super) fn answer_in_order<'a>(
    audit: &'a Audit,
    given: LinkFiles<'_, 'a>,
    question: &CoverageQuestion<'_>,
    (link, typed): (&mut Link, &TypedLink),
) -> (SharedObjects<'a>, Coverage) {
    let answer = |link: &Link| in_order(&CoverageQuestion { link: Some(link), ..*question }, link);
    let is_gnu = link.linker == Linker::Gnu;
    let reports = question.output.kind != OutputKind::Shared || typed.checks_shared;
    let is_checked = reports && (!typed.allow_shlib_undefined || is_gnu);
    if !is_checked || link.linker == Linker::Mold {
        return (SharedObjects::default(), answer(link));
    }
    link.allow_shlib_undefined = typed.allow_shlib_undefined;
    let shared = SharedObjects::new(audit, given, link, &FastSet::default());
    link.shared_references = shared.references(given.1, link);
    link.defined_behind = shared.defined_behind(given.1, link);
    let coverage = answer(link);
    if coverage.forgotten.is_empty() {
        return (shared, coverage);
    }
    // A library that GNU ld forgets (`--as-needed`) defines no name for the others.
    let shared = SharedObjects::new(audit, given, link, &coverage.forgotten);
    let references = shared.references(given.1, link);
    link.shared_references.retain(|(_, at)| !coverage.forgotten.contains(at));
    let defined_behind = shared.defined_behind(given.1, link);
    if references == link.shared_references && defined_behind == link.defined_behind {
        return (shared, coverage);
    }
    (link.shared_references, link.defined_behind) = (references, defined_behind);
    let coverage = answer(link);
    (shared, coverage)
}

impl<'a> SharedObjects<'a> {
    /// The shared objects among the inputs, without those in `forgotten`. `forgotten` has the
    /// `--as-needed` libraries that no file needs, and the libraries with the name of an earlier
    /// library.
    ///
    /// GNU ld also reads the libraries that the inputs need, but only for the references of shared
    /// objects (`ldelf_after_open`).
    pub(super) fn new(
        audit: &'a Audit,
        given: LinkFiles<'_, 'a>,
        link: &Link,
        forgotten: &FastSet<usize>,
    ) -> Self {
        let (_, roots, objects) = given;
        let is_input =
            |at: &usize| roots[*at].linked && roots[*at].input && !forgotten.contains(at);
        let all = (0..roots.len()).filter(is_input);
        let inputs = all.filter_map(|at| Some((at, objects[at]?))).collect();
        let mut out = Self { inputs, ..Self::default() };
        if link.linker == Linker::Gnu && !link.allow_shlib_undefined {
            out.read_needed(audit, given, (link, forgotten));
        }
        out
    }

    /// Finds the libraries that the inputs need. An input satisfies a need by its name alone, even
    /// if the loader would not find that input. An input in `forgotten` is not part of the link. If
    /// a shared object needs an input in `forgotten`, GNU ld reads this input as a needed library.
    /// The needs of an input count even if an earlier input has the same name (`ldelf_after_open`).
    fn read_needed(
        &mut self,
        audit: &'a Audit,
        (files, roots, objects): LinkFiles<'_, 'a>,
        (link, forgotten): (&Link, &FastSet<usize>),
    ) {
        let mut known: FastSet<Vec<u8>> = FastSet::default();
        for (at, object) in &self.inputs {
            known.extend(names(link, (*at, &roots[*at]), object));
        }
        let mut late: FastMap<Vec<u8>, FileId> = FastMap::default();
        for at in forgotten {
            let names = |object| names(link, (*at, &roots[*at]), object);
            let names = objects[*at].into_iter().flat_map(names);
            late.extend(names.map(|name| (name, files[*at])));
        }
        let loaders = FirstLoader::new(&audit.closures);
        let is_read = |at: &usize| {
            let is_input = roots[*at].linked && roots[*at].input && objects[*at].is_some();
            is_input && !(forgotten.contains(at) && link.as_needed.contains(at))
        };
        let mut queue: VecDeque<FileId> =
            (0..roots.len()).filter(is_read).map(|at| files[at]).collect();
        let mut read: FastSet<FileId> = queue.iter().copied().collect();
        while let Some(file) = queue.pop_front() {
            for (name, found) in audit.needs_of(&loaders, file) {
                if !known.insert(name.to_vec()) {
                    continue;
                }
                let Some(found) = late.get(name).copied().or(found) else {
                    let root = files.iter().position(|known| *known == file);
                    let by = root.map_or(&audit.corpus.files[file].path, |at| &roots[at].path);
                    let by = Arc::clone(by);
                    self.missing.push((name.into(), by));
                    continue;
                };
                if read.insert(found) {
                    queue.push_back(found);
                    let facts = &audit.corpus.files[found];
                    let object = facts.object();
                    self.behind.extend(object.map(|object| (Arc::clone(&facts.path), object)));
                }
            }
        }
    }

    /// The strong references of the inputs that no shared object defines, each with the index of
    /// its root. lld checks an input only if all libraries that the input needs are inputs
    /// (`Writer<ELFT>::finalizeSections`).
    pub(super) fn references(
        &self,
        roots: &[ReferringFile],
        link: &Link,
    ) -> Vec<(Box<[u8]>, usize)> {
        let is_gnu = link.linker == Linker::Gnu;
        let name = |(at, object): &(usize, &'a Object)| {
            link.needed_name(*at, &roots[*at], Some(object)).to_vec()
        };
        let known: FastSet<Vec<u8>> = self.inputs.iter().map(name).collect();
        let is_checked = |object: &Object| {
            let mut needs = object.needs.iter().filter(|need| need.kind == NeedKind::Needed);
            is_gnu || needs.all(|need| known.contains(object.str(need.name)))
        };
        let mut out = Vec::new();
        for (at, _) in self.inputs.iter().filter(|(_, object)| is_checked(object)) {
            let symbols = roots[*at].symbols.iter();
            for (name, _) in symbols.filter(|(_, kind)| *kind == SymbolKind::Undefined) {
                // `--wrap` of lld affects objects only, but `__real_NAME` gets the definition of
                // NAME.
                let name = if is_gnu { link.reference(name) } else { name };
                let real = link.wraps.iter().find(|wrap| !is_gnu && *wrap.real == *name);
                if !self.define(real.map_or(name, |wrap| &*wrap.name)) {
                    out.push((name.into(), *at));
                }
            }
        }
        out
    }

    /// The names to which inputs refer strongly and that a library behind the inputs defines.
    fn defined_behind(&self, roots: &[ReferringFile], link: &Link) -> FastSet<Box<[u8]>> {
        let mut out = FastSet::default();
        for (at, _) in self.inputs.iter().filter(|_| !self.behind.is_empty()) {
            let symbols = roots[*at].symbols.iter();
            let names = symbols.filter(|(_, kind)| *kind == SymbolKind::Undefined);
            let names = names.map(|(name, _)| link.reference(name));
            let is_defined = |name: &&[u8]| self.behind.iter().any(|(_, o)| o.satisfies_link(name));
            out.extend(names.filter(is_defined).map(Into::into));
        }
        out
    }

    /// True if a shared object defines `name`.
    fn define(&self, name: &[u8]) -> bool {
        let inputs = self.inputs.iter().map(|(_, object)| *object);
        inputs.chain(self.behind.iter().map(|(_, o)| *o)).any(|object| object.satisfies_link(name))
    }

    /// Adds to `coverage` the names that libraries behind the inputs leave undefined.
    pub(super) fn add_undefined(
        &self,
        question: &CoverageQuestion<'_>,
        link: &Link,
        coverage: &mut Coverage,
    ) {
        let found = self.undefined_behind(question, link, coverage);
        coverage.undefined.extend(found);
        coverage.undefined.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    }

    /// Removes and returns the undefined names to which only shared objects refer, if a library was
    /// not found. That library may define these names.
    pub(super) fn take_unsure(
        &self,
        question: &CoverageQuestion<'_>,
        coverage: &mut Coverage,
    ) -> Vec<UndefinedName> {
        if self.missing.is_empty() {
            return Vec::new();
        }
        let is_shared = |by: &ReferredBy| match by {
            ReferredBy::Root(at) => {
                question.roots.get(*at).is_none_or(|root| root.linked && root.input)
            }
            ReferredBy::Asked
            | ReferredBy::EntryPoint
            | ReferredBy::LibraryCall
            | ReferredBy::Member(_) => false,
        };
        let of_shared = |one: &mut UndefinedName| one.by.iter().all(is_shared);
        coverage.undefined.extract_if(.., of_shared).collect()
    }

    /// The names to which the libraries behind the inputs refer and that no file of the link
    /// defines. In the referrers, the indices after the last root stand for these libraries, in the
    /// order of [`Self::paths`].
    fn undefined_behind(
        &self,
        question: &CoverageQuestion<'_>,
        link: &Link,
        coverage: &Coverage,
    ) -> Vec<UndefinedName> {
        let is_defined = |name: &[u8]| {
            let by_linker = question.output.defines(question.target(), name);
            self.define(name) || (question.provided)(name) || by_linker == LinkerDefined::Always
        };
        let mut open: BTreeMap<Box<[u8]>, Vec<ReferredBy>> = BTreeMap::new();
        for (at, (_, object)) in self.behind.iter().enumerate() {
            for (name, _) in link_references(object, true).iter().filter(|(name, kind)| {
                *kind == SymbolKind::Undefined && !is_defined(link.reference(name))
            }) {
                let by = ReferredBy::Root(question.roots.len() + at);
                open.entry(link.reference(name).into()).or_default().push(by);
            }
        }
        if open.is_empty() {
            return Vec::new();
        }
        let of_roots = question.roots.iter().flat_map(|root| &root.symbols);
        let of_roots = of_roots.filter(|(_, kind)| kind.is_definition()).map(|(name, _)| &**name);
        let library = question.library;
        let members = coverage.needed.iter().flat_map(|needed| library.symbols(needed.member));
        let of_members = members.filter(|(_, symbol)| symbol.kind.is_definition());
        let of_members = of_members.map(|(name, _)| library.text(name));
        let of_options = link.defined.iter().map(|defined| &*defined.name);
        let reported = coverage.undefined.iter().map(|one| &*one.symbol);
        for name in of_roots.chain(of_members).chain(of_options).chain(reported) {
            open.remove(name);
            if let Some(at) = name.windows(2).position(|two| two == b"@@") {
                open.remove(&*[&name[..at], &name[at + 1..]].concat());
            }
        }
        let undefined = open.into_iter();
        undefined.map(|(symbol, by)| UndefinedName { symbol, by, unread: 0 }).collect()
    }

    /// The paths of the libraries behind the inputs, in the order in which GNU ld reads them.
    pub(super) fn paths(&self) -> Vec<Arc<Path>> {
        self.behind.iter().map(|(path, _)| Arc::clone(path)).collect()
    }
}

/// The names by which GNU ld finds an input for a DT_NEEDED entry (`ldelf_check_needed`).
fn names(link: &Link, (at, root): (usize, &ReferringFile), object: &Object) -> Vec<Vec<u8>> {
    let file = root.path.file_name().filter(|_| object.soname().is_none());
    let file = file.map(|name| name.as_bytes().to_vec());
    let name = link.needed_name(at, root, Some(object)).to_vec();
    [name, root.path.as_os_str().as_bytes().to_vec()].into_iter().chain(file).collect()
}
