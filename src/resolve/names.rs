//! Names of objects as string ids, and the few flags that a link map asks for: made once for each
//! file, so that a link map is built without a look at the facts.

use crate::facts::FactStore;
use crate::format::elf::{NeedKind, Str};
use crate::id::{FastMap, FileId, Id as _, SignatureId, StrId, Strings};
use std::sync::Arc;

/// What decides about the links of an entry point without any search path or token of its own,
/// besides its loader: PT_INTERP, DT_SONAME and needs.
type Signature = (Option<StrId>, Option<StrId>, Box<[(NeedKind, StrId)]>);

/// One need of an object.
#[derive(Clone, Copy)]
pub(super) struct NeedName {
    pub(super) kind: NeedKind,
    /// As it stands in the file.
    pub(super) raw: StrId,
    /// It holds a dollar sign.
    pub(super) has_token: bool,
}

/// What a link map asks of one object.
pub(super) struct Names {
    /// Objects with the same signature have the same links; none if a search path, a token or
    /// DF_1_NODEFLIB makes them its own.
    pub(super) signature: Option<SignatureId>,
    pub(super) needs: Box<[NeedName]>,
    pub(super) interp: Option<StrId>,
    pub(super) soname: Option<StrId>,
    pub(super) rpath: Option<StrId>,
    pub(super) runpath: Option<StrId>,
    /// DF_1_NODEFLIB
    pub(super) nodeflib: bool,
    /// DF_1_NOOPEN
    pub(super) noopen: bool,
    /// The text with which the loader refuses to map it.
    pub(super) refused: Option<&'static str>,
}

impl Names {
    /// DT_RPATH, which counts only without DT_RUNPATH.
    pub(super) fn counting_rpath(&self) -> Option<StrId> {
        self.rpath.filter(|_| self.runpath.is_none())
    }

    /// True if searches for its needs depend on nothing but its loader and what loads it.
    pub(super) fn is_plain(&self) -> bool {
        self.rpath.is_none() && self.runpath.is_none() && !self.nodeflib
    }
}

/// Names of all objects that were met.
#[derive(Default)]
pub(super) struct NameTable {
    by_file: Vec<Option<Arc<Names>>>,
    signatures: FastMap<Signature, SignatureId>,
}

impl NameTable {
    /// The names of the object in `file`; nothing if it holds none.
    pub(super) fn of(
        &mut self,
        file: FileId,
        store: &dyn FactStore,
        strings: &mut Strings,
    ) -> Option<&Arc<Names>> {
        if file.index() >= self.by_file.len() {
            self.by_file.resize((file.index() + 1).next_power_of_two(), None);
        }
        if self.by_file[file.index()].is_none() {
            self.by_file[file.index()] = self.read(file, store, strings).map(Arc::new);
        }
        self.by_file[file.index()].as_ref()
    }

    fn read(
        &mut self,
        file: FileId,
        store: &dyn FactStore,
        strings: &mut Strings,
    ) -> Option<Names> {
        let object = store.object(file)?;
        let need = |need: &crate::format::elf::Need| {
            let text = object.str(need.name);
            NeedName { kind: need.kind, raw: strings.id(text), has_token: text.contains(&b'$') }
        };
        let needs: Box<[NeedName]> = object.needs.iter().map(need).collect();
        let mut id = |s: Option<Str>| s.map(|s| strings.id(object.str(s)));
        let (soname, rpath, runpath) = (id(object.soname), id(object.rpath), id(object.runpath));
        let mut names = Names {
            signature: None,
            needs,
            interp: id(object.interp),
            soname,
            rpath,
            runpath,
            nodeflib: object.nodeflib,
            noopen: object.noopen,
            refused: object.refused,
        };
        if names.is_plain() && names.needs.iter().all(|need| !need.has_token) {
            let next = SignatureId::from_index(self.signatures.len());
            let needs = names.needs.iter().map(|need| (need.kind, need.raw)).collect();
            let signature = (names.interp, names.soname, needs);
            names.signature = Some(*self.signatures.entry(signature).or_insert(next));
        }
        Some(names)
    }
}
