//! Definitions in the symbol table of the linked object: those that a member defines again, and
//! those of names to which a member refers.

use crate::format::elf::Object;
use crate::format::elf::symtab::{LinkedSymbol, each_defined};
use crate::id::{FastMap, FastSet};
use crate::tree::{Opened, Tree};
use object::elf;
use std::collections::BTreeSet;
use std::path::Path;

/// The symbols of one name in the symbol table of the object.
#[derive(Clone, Copy)]
pub(super) struct Inside {
    /// The binding of the last one, which is global if one of them is.
    pub(super) bind: elf::SymbolBind,
    /// True if all were local before the object was linked; `None` if this is unknown.
    pub(super) was_local: Option<bool>,
    /// True if the last one has no bytes in the file.
    is_zero_filled: bool,
}

impl Inside {
    pub(super) fn new(object: &Object, symbol: &LinkedSymbol<'_>) -> Self {
        let is_zero_filled = object.is_zero_filled(symbol.kind.0, symbol.value);
        Self { bind: symbol.bind, was_local: symbol.was_local, is_zero_filled }
    }

    pub(super) fn and(self, last: Self) -> Self {
        let was_local = match (self.was_local, last.was_local) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        };
        Self { was_local, ..last }
    }

    /// How the name duplicates a strong definition of a member.
    pub(super) fn duplicate(self) -> Duplicate {
        match self.was_local {
            None => Duplicate::OfLocal,
            Some(_) => Duplicate::of_zero_filled(self.is_zero_filled),
        }
    }
}

/// A definition of the object whose name a member defines strongly.
#[derive(Clone, Copy)]
pub(super) enum Duplicate {
    /// The definition is strong: no linker accepts both.
    Certain,
    /// The definition is local in the object, and may have been global in its link.
    OfLocal,
    /// The definition has no bytes in the file. It may have been tentative, and a linked file does
    /// not record this. Linkers replace a tentative definition by a strong one.
    OfZeros,
}

impl Duplicate {
    pub(super) fn of_zero_filled(is_zero_filled: bool) -> Self {
        if is_zero_filled { Self::OfZeros } else { Self::Certain }
    }

    /// The reason why the member may not link, in words.
    pub(super) fn reason(self, member: &str, symbol: &str) -> String {
        match self {
            Self::Certain => {
                format!("{member} duplicates the definition of {symbol}: no linker accepts both")
            }
            Self::OfLocal => format!(
                "{member} may duplicate the definition of {symbol}: the file has a local symbol of \
                 this name, which may be global in its link"
            ),
            Self::OfZeros => format!(
                "{member} may duplicate the definition of {symbol}: linkers accept both only if the \
                 one of the file is tentative in its link (-fcommon)"
            ),
        }
    }
}

/// Names to which added members refer and which no file exports, in the symbol table of the linked
/// object. The objects from which it was linked may define such a name as a hidden symbol.
pub(super) struct OwnNames {
    is_stripped: bool,
    /// The names that the table has: true if the symbol was local before the link; `None` if this
    /// is unknown.
    was_local: FastMap<Box<[u8]>, Option<bool>>,
}

impl OwnNames {
    /// Looks for `names` in the symbol table of the file at `path`.
    pub(super) fn new(tree: &dyn Tree, path: &Path, names: &FastSet<&[u8]>) -> Self {
        let mut was_local = FastMap::default();
        let visit = |symbol: LinkedSymbol<'_>| {
            if names.contains(symbol.name) {
                let known = was_local.entry(symbol.name.into()).or_insert(symbol.was_local);
                // Several symbols may have the name, and the members find those that were global.
                if *known != Some(false) && *known != symbol.was_local {
                    *known = symbol.was_local.filter(|was_local| !was_local);
                }
            }
        };
        let has_symbols = match tree.open(path) {
            Ok(Opened::File(handle)) => each_defined(&handle, visit).unwrap_or(true),
            _ => true,
        };
        Self { is_stripped: !has_symbols, was_local }
    }

    /// True if the file has no symbol table (`.symtab`).
    pub(super) fn is_stripped(&self) -> bool {
        self.is_stripped
    }

    /// What is known about `names` if a link of the file's objects may define them all, in words;
    /// `None` if some name is certainly undefined.
    pub(super) fn reason(&self, names: &BTreeSet<Vec<u8>>) -> Option<&'static str> {
        if self.is_stripped {
            return Some(
                "would be undefined unless a hidden symbol of the file defines it: the file is stripped",
            );
        }
        let known = names.iter().map(|name| self.was_local.get(&**name).copied());
        let mut all_hidden = true;
        for was_local in known {
            match was_local? {
                Some(true) => return None,
                Some(false) => {}
                None => all_hidden = false,
            }
        }
        Some(if all_hidden {
            "is defined in the file and not exported: its objects may define it, which is not verified"
        } else {
            "would be undefined unless the local symbol of the file is hidden in its object"
        })
    }
}
