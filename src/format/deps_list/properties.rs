//! Reads the libraries that commands give to the properties of targets, the values of global
//! properties, and the names of archives whose files commands find.

use super::loops::FileUse;
use super::scan::Scan;
use super::{Block, Set, SetCommand};
use crate::format::cmake::{Argument, ArgumentKind};

impl Scan<'_> {
    /// The sets of `set_property()` and `set_target_properties()`.
    pub(super) fn properties(&self) -> Vec<Set> {
        if self.name() == b"set_target_properties" {
            return self.pairs();
        }
        if let Some((name, values)) = self.global_property() {
            let text = self.bytes(&name.inside);
            return vec![self.values(text, values, name.span.end, SetCommand::Append)];
        }
        self.property().into_iter().collect()
    }

    /// The name of an archive in `find_library(NAME a)`, or in
    /// `set_target_properties(NAME PROPERTIES IMPORTED_LOCATION liba.a)`. `blocks` are the blocks
    /// around the command.
    pub(super) fn used_file(&self, blocks: Vec<Block>) -> Option<FileUse> {
        let arguments = self.arguments();
        let text = |word: &Argument| self.bytes(&word.inside).to_vec();
        let is_search = self.name() == b"find_library";
        let is = |word: &[u8]| arguments.iter().position(|one| self.word(one) == word);
        let value = match &*self.name() {
            b"find_library" => arguments.get(1 + usize::from(is(b"NAMES") == Some(1))),
            b"set_target_properties" | b"set_property" => {
                arguments.get(is(b"IMPORTED_LOCATION")? + 1)
            }
            _ => None,
        };
        let place = usize::from(self.name() == b"set_property");
        let target = arguments.get(place).filter(|_| !is_search).map(text);
        Some(FileUse { blocks, text: text(value?), target })
    }

    /// The property and the values of `set_property(GLOBAL [APPEND] PROPERTY NAME …)`.
    pub(super) fn global_property(&self) -> Option<(&Argument, &[Argument])> {
        let is = |word: &Argument, text: &[u8]| self.word(word) == text;
        let [kind, rest @ ..] = self.arguments() else { return None };
        let rest = match rest {
            [append, rest @ ..] if is(append, b"APPEND") => rest,
            rest => rest,
        };
        let [property, name, values @ ..] = rest else { return None };
        (is(kind, b"GLOBAL") && is(property, b"PROPERTY")).then_some((name, values))
    }

    /// True for an argument such as `"a;b"`, inside of which a new name can be written.
    pub(super) fn is_quoted_list(&self, value: &Argument) -> bool {
        is_quoted_list(value, self.bytes(&value.inside))
    }

    /// The sets of `set_target_properties(NAME PROPERTIES LINK_LIBRARIES "a;b")`.
    fn pairs(&self) -> Vec<Set> {
        let [target, properties, pairs @ ..] = self.arguments() else { return Vec::new() };
        if self.word(properties) != b"PROPERTIES" {
            return Vec::new();
        }
        let target = self.bytes(&target.inside);
        let set = |pair: &[Argument]| {
            let [name, value] = pair else { return None };
            let is_interface = is_interface(self.word(name))?;
            let one = std::slice::from_ref(value);
            let mut set = self.values(target, one, name.span.end, SetCommand::Link);
            set.body.end = value.span.end;
            (set.is_private, set.is_interface) = (!is_interface, is_interface);
            Some(set).filter(|_| self.is_quoted_list(value))
        };
        pairs.chunks(2).filter_map(set).collect()
    }

    /// The set of `set_property(TARGET NAME PROPERTY LINK_LIBRARIES …)`.
    fn property(&self) -> Option<Set> {
        let Property { target, name, values, is_interface } = self.linked_property()?;
        let target = self.bytes(&target.inside);
        let mut set = self.values(target, values, name.span.end, SetCommand::Link);
        (set.is_private, set.is_interface) = (!is_interface, is_interface);
        Some(set)
    }

    /// Reads `set_property(TARGET NAME [APPEND] PROPERTY LINK_LIBRARIES …)`, and the same for
    /// `INTERFACE_LINK_LIBRARIES`. `None` for other properties.
    pub(super) fn linked_property(&self) -> Option<Property<'_>> {
        let is = |word: &Argument, text: &[u8]| self.word(word) == text;
        let [kind, target, rest @ ..] = self.arguments() else { return None };
        let rest = match rest {
            [append, rest @ ..] if is(append, b"APPEND") => rest,
            rest => rest,
        };
        let [property, name, values @ ..] = rest else { return None };
        if !is(kind, b"TARGET") || !is(property, b"PROPERTY") || values.is_empty() {
            return None;
        }
        let is_interface = is_interface(self.word(name))?;
        Some(Property { target, name, values, is_interface })
    }
}

/// True for an argument such as `"a;b"`, without expressions and escaped characters. `text` is the
/// text inside of the quotes.
pub(super) fn is_quoted_list(value: &Argument, text: &[u8]) -> bool {
    let is_odd = |b: &u8| matches!(b, b'\\' | b'[' | b']' | b'<');
    value.kind == ArgumentKind::Quoted && text.contains(&b';') && !text.iter().any(is_odd)
}

/// True if the property has the libraries of targets that link this one, false for the libraries
/// of the target itself. `None` for other properties.
fn is_interface(property: &[u8]) -> Option<bool> {
    match property {
        b"LINK_LIBRARIES" => Some(false),
        b"INTERFACE_LINK_LIBRARIES" => Some(true),
        _ => None,
    }
}

/// The libraries that a command gives to a property of a target.
pub(super) struct Property<'s> {
    pub(super) target: &'s Argument,
    /// The name of the property.
    name: &'s Argument,
    pub(super) values: &'s [Argument],
    pub(super) is_interface: bool,
}
