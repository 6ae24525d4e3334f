//! Compares the exports of an old file and its new version. Finds the symbols that are gone, and
//! the symbols whose version, type, size, binding or visibility changed.

use crate::demangle::demangle;
use crate::id::{FastMap, FastSet};
use crate::order::Arrange as _;
use crate::report::model::{Export, ExportKind, File};
use crate::text::show;
use std::collections::BTreeMap;

/// A symbol that is gone or changed. `reason` is the difference in words.
pub(super) struct Change {
    pub(super) name: Vec<u8>,
    pub(super) version: Option<Vec<u8>>,
    pub(super) reason: String,
    kind: ChangeKind,
}

/// The kind of a difference between two exports.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChangeKind {
    /// The symbol is gone.
    Gone,
    /// The symbol still has versions, but the old version is gone.
    Version,
    /// The symbol no longer has a version. If the library still defines the old version, loaders
    /// still bind references with that version.
    Unversioned { defined: bool },
    /// The version of the symbol is no longer the default, so references without a version do not
    /// find the symbol.
    Hidden,
    /// As `Hidden`, but only for linkers and dlsym. Loaders still bind references without a
    /// version, because the version is the first that the library defines.
    HiddenFirst,
    /// The type or size changed.
    Data,
    /// Data became protected. The library then no longer uses the program's copy (`R_*_COPY`).
    Protected,
    /// The binding or visibility changed. References still bind.
    Binding,
}

impl Change {
    /// A symbol that other files no longer reach.
    pub(super) fn unreached(export: &Export<'_>) -> Self {
        Self {
            name: export.name.to_vec(),
            version: export.version.as_deref().map(<[u8]>::to_vec),
            reason: "gone".to_owned(),
            kind: ChangeKind::Gone,
        }
    }

    /// True if the symbol, or its version, is gone.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.kind, ChangeKind::Gone | ChangeKind::Version | ChangeKind::Unversioned { .. })
    }

    /// True if the change breaks only programs that have a copy of the symbol.
    pub(super) fn breaks_copies(&self) -> bool {
        self.kind == ChangeKind::Protected
    }

    /// True if the change breaks references with this version. `None` is for references without a
    /// version.
    pub(super) fn breaks(&self, version: Option<&[u8]>) -> bool {
        let is_same = |version| self.version.as_deref() == Some(version);
        let has_none = self.version.is_none();
        match (self.kind, version) {
            (ChangeKind::Binding | ChangeKind::HiddenFirst, _)
            | (ChangeKind::Unversioned { .. } | ChangeKind::Version, None) => false,
            (ChangeKind::Hidden, None) => true,
            (ChangeKind::Gone | ChangeKind::Data | ChangeKind::Protected, version) => {
                version.is_none_or(|version| has_none || is_same(version))
            }
            (ChangeKind::Version, Some(version)) => is_same(version),
            (ChangeKind::Unversioned { defined }, Some(version)) => !defined && is_same(version),
            (ChangeKind::Hidden, Some(_)) => false,
        }
    }
}

/// The differences between the exports of two files.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) gone: Vec<Change>,
    pub(super) changed: Vec<Change>,
}

/// Compares the exports of an old file with the exports of its new version.
pub(super) fn compare((file, old): (&File, &[Export<'_>]), new: &[Export<'_>]) -> Changes {
    // Reports of earlier releases have neither the first version nor `Export::first`.
    let knows_first = file.first_version.is_some();
    let mut now: FastMap<&[u8], Vec<&Export<'_>>> = FastMap::default();
    for export in new {
        now.entry(&export.name).or_default().push(export);
    }
    let versions_of_new = Versions::of(new);
    let mut out = Changes::default();
    for export in old.iter().filter(|export| !is_marker(export)) {
        let change = |(kind, reason)| Change {
            name: export.name.to_vec(),
            version: export.version.as_deref().map(<[u8]>::to_vec),
            reason,
            kind,
        };
        match now.get(&*export.name) {
            None => out.gone.push(change((ChangeKind::Gone, "gone".to_owned()))),
            Some(all) => {
                let same = all.iter().find(|other| other.version == export.version);
                let reason = match same {
                    Some(other) => data(export, other)
                        .map(|reason| (ChangeKind::Data, reason))
                        .or_else(|| {
                            Some((hidden(export, all, knows_first)?, NOT_DEFAULT.to_owned()))
                        })
                        .or_else(|| binding(export, other)),
                    None if all.iter().any(|other| other.version.is_none()) => {
                        let version = export.version.as_deref();
                        let defined = version.is_none_or(|name| versions_of_new.has(name));
                        Some((ChangeKind::Unversioned { defined }, versions(export, all)))
                    }
                    None if export.version.is_none()
                        && hidden(export, all, knows_first) == Some(ChangeKind::Hidden) =>
                    {
                        Some((ChangeKind::Hidden, versions(export, all)))
                    }
                    None => Some((ChangeKind::Version, versions(export, all))),
                };
                out.changed.extend(reason.map(change));
            }
        }
    }
    out
}

/// The versions that occur in the exports of a library.
struct Versions<'a>(FastSet<&'a [u8]>);

impl<'a> Versions<'a> {
    fn of(exports: &'a [Export<'_>]) -> Self {
        Self(exports.iter().filter_map(|export| export.version.as_deref()).collect())
    }

    fn has(&self, version: &[u8]) -> bool {
        self.0.contains(version)
    }
}

impl Changes {
    /// Removes lost symbols that moved to libraries that the new library loads. `beside` has the
    /// exports of these libraries. If the type or size of a moved symbol differs, the symbol is
    /// listed as changed. A reference with a version also names the old library (vn_file): the new
    /// library must still define that version, or no versions at all.
    pub(super) fn take_moved(
        &mut self,
        old: &[Export<'_>],
        new: &[Export<'_>],
        beside: &[Export<'_>],
    ) {
        let versions = Versions::of(new);
        let mut moved: FastMap<&[u8], Vec<&Export<'_>>> = FastMap::default();
        for export in beside {
            moved.entry(&export.name).or_default().push(export);
        }
        let before: FastMap<(&[u8], Option<&[u8]>), &Export<'_>> =
            old.iter().map(|export| ((&*export.name, export.version.as_deref()), export)).collect();
        let mut resized = Vec::new();
        self.gone.retain(|change| {
            let version = change.version.as_deref();
            if version.is_some_and(|name| !versions.has(name) && !versions.0.is_empty()) {
                return true;
            }
            let fits = |other: &&&Export<'_>| match version {
                None => !other.hidden,
                // A definition without a version satisfies every reference (`check_match`,
                // `elf/dl-lookup.c`).
                Some(_) => other.version.is_none() || other.version.as_deref() == version,
            };
            let Some(other) = moved.get(&*change.name).and_then(|all| all.iter().find(fits)) else {
                return true;
            };
            let reason = before.get(&(&*change.name, version)).and_then(|old| data(old, other));
            resized.extend(reason.map(|reason| Change {
                name: change.name.clone(),
                version: change.version.clone(),
                reason,
                kind: ChangeKind::Data,
            }));
            false
        });
        self.changed.extend(resized);
    }
}

/// True for the symbol that linkers define for each version of a library.
pub(super) fn is_marker(export: &Export<'_>) -> bool {
    export.kind != ExportKind::Function
        && export.version.as_deref() == Some(&*export.name)
        && export.size.unwrap_or_default() == 0
}

/// The change of type or size in words; `None` if there is none.
fn data(old: &Export<'_>, new: &Export<'_>) -> Option<String> {
    if old.kind != new.kind && old.kind != ExportKind::Other && new.kind != ExportKind::Other {
        return Some(format!("{} before, {} now", old.kind.words(), new.kind.words()));
    }
    match (old.size, new.size) {
        (Some(old), Some(new)) if old != new => Some(format!("{old} bytes before, {new} now")),
        _ => None,
    }
}

const NOT_DEFAULT: &str = "default version before, not now";

/// The change of a symbol whose old version was the default and whose new versions are not. `None`
/// for other symbols. If `knows_first` is false, the old report does not say which version is the
/// first of its library.
fn hidden(old: &Export<'_>, new: &[&Export<'_>], knows_first: bool) -> Option<ChangeKind> {
    let was_default = !old.hidden && !old.first && (knows_first || old.version.is_none());
    if !old.hidden && new.iter().all(|export| export.hidden) {
        Some(ChangeKind::Hidden)
    } else if was_default && new.iter().all(|export| export.hidden || export.first) {
        Some(ChangeKind::HiddenFirst)
    } else {
        None
    }
}

/// The change of binding or visibility, with its words; `None` if there is none.
fn binding(old: &Export<'_>, new: &Export<'_>) -> Option<(ChangeKind, String)> {
    let is_data = old.kind == ExportKind::Data;
    let words = match (old.protected, new.protected) {
        (false, true) if is_data => {
            return Some((ChangeKind::Protected, "protected now".to_owned()));
        }
        _ if old.binding != new.binding => {
            format!("{} before, {} now", old.binding.word(), new.binding.word())
        }
        (false, true) => "protected now".to_owned(),
        (true, false) => "not protected any more".to_owned(),
        _ => return None,
    };
    Some((ChangeKind::Binding, words))
}

fn versions(old: &Export<'_>, new: &[&Export<'_>]) -> String {
    let word = |version: Option<&[u8]>| version.map_or_else(|| "no version".to_owned(), show);
    let now: Vec<String> = new.iter().map(|export| word(export.version.as_deref())).collect();
    format!("{} before, {} now", word(old.version.as_deref()), now.join(" and "))
}

/// The C++ class or namespace of a symbol; empty if it has none.
fn class(name: &[u8]) -> String {
    let Some(text) = demangle(name) else { return String::new() };
    let text = text.split_once(" for ").map_or(&*text, |(_, rest)| rest);
    let text = without_return_type(text);
    // `::` in parameters and template arguments is ignored.
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

/// A demangled name without its return type. Only names of templates have one.
fn without_return_type(text: &str) -> &str {
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' => depth = depth.saturating_sub(1),
            b'(' if depth == 0 => break,
            b' ' if depth == 0 && !text[start..at].ends_with("operator") => start = at + 1,
            _ => {}
        }
    }
    &text[start..]
}

/// The number of symbols in each C++ class or namespace, largest first.
pub(super) fn by_class(changes: &[&Change]) -> Vec<(String, usize)> {
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
            ("_ZN2n11V3getIiEERT_v", "n1::V"),
            ("_ZN5ShapecvbEv", "Shape"),
        ] {
            assert_eq!(class(name.as_bytes()), expected, "{name}");
        }
    }
}
