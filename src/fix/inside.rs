//! Definitions in the symbol table of the linked object that a member defines again.

use crate::format::elf::Object;
use crate::format::elf::symtab::LinkedSymbol;
use object::elf;

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
