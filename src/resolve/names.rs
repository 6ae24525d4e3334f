//! The names in objects as string ids, and the flags that affect a link map. Names and flags are
//! computed once per file, so that builds of link maps do not read the objects again.

use crate::facts::FactStore;
use crate::format::elf::{NeedKind, Str};
use crate::id::{FastMap, FileId, Id as _, SignatureId, StrId, Strings};
use std::sync::Arc;

/// PT_INTERP, DT_SONAME and needs of an object without a search path or token. Entry points with
/// the same signature and the same loader share a link map.
type Signature = (Option<StrId>, Option<StrId>, Box<[(NeedKind, StrId)]>);

/// One need of an object.
#[derive(Clone, Copy)]
pub(super) struct NeedName {
    pub(super) kind: NeedKind,
    /// The needed name as written in the file.
    pub(super) raw: StrId,
    /// True if the name contains a dollar sign, so that it may have a token such as `$ORIGIN`.
    pub(super) has_token: bool,
}

/// The names and flags of one object.
pub(super) struct ObjectNames {
    /// The signature of the object; `None` if the object has a search path, a token or
    /// DF_1_NODEFLIB.
    pub(super) signature: Option<SignatureId>,
    pub(super) needs: Box<[NeedName]>,
    pub(super) interp: Option<StrId>,
    pub(super) soname: Option<StrId>,
    pub(super) rpath: Option<StrId>,
    pub(super) runpath: Option<StrId>,
    /// DF_1_NODEFLIB: the loader does not search default directories for the object's needs.
    pub(super) nodeflib: bool,
    /// DF_1_NOOPEN: dlopen refuses the object.
    pub(super) noopen: bool,
    /// The loader's message if the loader refuses to map the object.
    pub(super) refused: Option<&'static str>,
}

impl ObjectNames {
    /// The DT_RPATH that the loader uses. `None` if the object has none, or also has DT_RUNPATH:
    /// the loader then ignores DT_RPATH.
    pub(super) fn counting_rpath(&self) -> Option<StrId> {
        self.rpath.filter(|_| self.runpath.is_none())
    }

    /// True if the object itself does not change how its needs are searched for: it has neither a
    /// search path nor DF_1_NODEFLIB.
    pub(super) fn is_plain(&self) -> bool {
        self.rpath.is_none() && self.runpath.is_none() && !self.nodeflib
    }
}

/// The names and flags of objects, computed for each object when a link map first needs it.
#[derive(Default)]
pub(super) struct NameTable {
    by_file: Vec<Option<Arc<ObjectNames>>>,
    signatures: FastMap<Signature, SignatureId>,
}

impl NameTable {
    /// The names and flags of the object in `file`; `None` if the file is not an object.
    pub(super) fn of(
        &mut self,
        file: FileId,
        store: &dyn FactStore,
        strings: &mut Strings,
    ) -> Option<&Arc<ObjectNames>> {
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
    ) -> Option<ObjectNames> {
        let object = store.object(file)?;
        let need = |need: &crate::format::elf::DynamicNeed| {
            let text = object.str(need.name);
            NeedName { kind: need.kind, raw: strings.id(text), has_token: text.contains(&b'$') }
        };
        let needs: Box<[NeedName]> = object.needs.iter().map(need).collect();
        let mut id = |s: Option<Str>| s.map(|s| strings.id(object.str(s)));
        let (soname, rpath, runpath) = (id(object.soname), id(object.rpath), id(object.runpath));
        let mut names = ObjectNames {
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
