//! The exports of a library and of its counterpart: the symbols that are gone, and those that changed
//! their version, type, size, binding or visibility.

use crate::demangle::demangle;
use crate::id::FastMap;
use crate::order::Arrange as _;
use crate::report::model::{Export, ExportKind};
use crate::text::show;
use std::collections::BTreeMap;

/// A symbol with the difference in words.
pub(super) struct Change {
    pub(super) name: Vec<u8>,
    pub(super) version: Option<Vec<u8>>,
    pub(super) reason: String,
    kind: Kind,
}

/// What changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The symbol is gone.
    Gone,
    /// It has only other versions.
    Version,
    /// It has no version any more. Loaders accept that and print a message.
    Unversioned,
    /// Its type or size.
    Data,
    /// Its binding or visibility: references are still bound.
    Binding,
}

impl Change {
    /// True if the symbol, or its version, is gone.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.kind, Kind::Gone | Kind::Version | Kind::Unversioned)
    }

    /// True if the change concerns references with this version.
    pub(super) fn breaks(&self, version: Option<&[u8]>) -> bool {
        let is_same = |version| self.version.as_deref().is_none_or(|own| own == version);
        match (self.kind, version) {
            (Kind::Unversioned | Kind::Binding, _) | (Kind::Version, None) => false,
            (Kind::Gone | Kind::Data, None) => true,
            (_, Some(version)) => is_same(version),
        }
    }
}

/// The differences of the exports of two libraries.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) gone: Vec<Change>,
    pub(super) changed: Vec<Change>,
}

pub(super) fn compare(old: &[Export<'_>], new: &[Export<'_>]) -> Changes {
    let mut now: FastMap<&[u8], Vec<&Export<'_>>> = FastMap::default();
    for export in new {
        now.entry(&export.name).or_default().push(export);
    }
    let mut out = Changes::default();
    for export in old.iter().filter(|export| !is_marker(export)) {
        let change = |(kind, reason)| Change {
            name: export.name.to_vec(),
            version: export.version.as_deref().map(<[u8]>::to_vec),
            reason,
            kind,
        };
        match now.get(&*export.name) {
            None => out.gone.push(change((Kind::Gone, "gone".to_owned()))),
            Some(all) => {
                let same = all.iter().find(|other| other.version == export.version);
                let reason = match same {
                    Some(other) => data(export, other)
                        .map(|reason| (Kind::Data, reason))
                        .or_else(|| Some((Kind::Binding, binding(export, other)?))),
                    None if all.iter().any(|other| other.version.is_none()) => {
                        Some((Kind::Unversioned, versions(export, all)))
                    }
                    None => Some((Kind::Version, versions(export, all))),
                };
                out.changed.extend(reason.map(change));
            }
        }
    }
    out
}

/// Linkers make a symbol of each version that a library defines.
fn is_marker(export: &Export<'_>) -> bool {
    export.kind != ExportKind::Function
        && export.version.as_deref() == Some(&*export.name)
        && export.size.unwrap_or_default() == 0
}

/// The difference of type or size.
fn data(old: &Export<'_>, new: &Export<'_>) -> Option<String> {
    if old.kind != new.kind && old.kind != ExportKind::Other && new.kind != ExportKind::Other {
        return Some(format!("{} before, {} now", old.kind.words(), new.kind.words()));
    }
    match (old.size, new.size) {
        (Some(old), Some(new)) if old != new => Some(format!("{old} bytes before, {new} now")),
        _ => None,
    }
}

/// The difference of binding or visibility.
fn binding(old: &Export<'_>, new: &Export<'_>) -> Option<String> {
    if old.binding != new.binding {
        return Some(format!("{} before, {} now", old.binding.word(), new.binding.word()));
    }
    match (old.protected, new.protected) {
        (false, true) => Some("protected now".to_owned()),
        (true, false) => Some("not protected any more".to_owned()),
        _ => None,
    }
}

fn versions(old: &Export<'_>, new: &[&Export<'_>]) -> String {
    let word = |version: Option<&[u8]>| version.map_or_else(|| "no version".to_owned(), show);
    let now: Vec<String> = new.iter().map(|export| word(export.version.as_deref())).collect();
    format!("{} before, {} now", word(old.version.as_deref()), now.join(" and "))
}

/// The C++ class or namespace, or nothing for a plain name.
fn class(name: &[u8]) -> String {
    let Some(text) = demangle(name) else { return String::new() };
    let text = text.split_once(" for ").map_or(&*text, |(_, rest)| rest);
    // Parameters and template arguments hold `::` too.
    let mut depth = 0_usize;
    let mut last = None;
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' => depth = depth.saturating_sub(1),
            b'(' if depth == 0 => break,
            b':' if depth == 0 && bytes.get(at + 1) == Some(&b':') => last = Some(at),
            _ => {}
        }
    }
    last.map_or_else(String::new, |at| text[..at].to_owned())
}

/// The number of symbols by C++ class or namespace, the most first.
pub(super) fn by_class(changes: &[Change]) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for change in changes {
        *counts.entry(class(&change.name)).or_default() += 1;
    }
    let mut out: Vec<(String, usize)> = counts.into_iter().collect();
    out.arrange_by_key(|(_, count)| std::cmp::Reverse(*count));
    out
}

#[cfg(test)]
mod tests {
    use super::class;

    #[test]
    fn a_class_is_what_precedes_the_last_name() {
        for (name, expected) in [
            ("_ZNK5Shape4areaEd", "Shape"),
            ("_ZN2ns5Shape2idERKSt6vectorIiSaIiEE", "ns::Shape"),
            ("_ZTVN2ns5ShapeE", "ns"),
            ("plain", ""),
            ("_Z3foov", ""),
        ] {
            assert_eq!(class(name.as_bytes()), expected, "{name}");
        }
    }
}
