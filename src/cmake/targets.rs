//! Evaluates the commands that define targets and change their properties. After the evaluation of
//! a package, checks the files and targets that the properties name.

use super::budget::ITEM;
use super::commands::joined_words;
use super::eval::Eval;
use super::state::{CommandSite, DefinedTarget, Text};
use super::value::{ArgumentWord, MaybeText, Truth, items, joined, known};
use super::{Event, EventKind, PathEntry};
use crate::order::Arrange as _;
use crate::tree::without_dots;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Properties whose values are files that consumers use.
const FILES: [&[u8]; 3] = [b"IMPORTED_LOCATION", b"IMPORTED_IMPLIB", b"IMPORTED_OBJECTS"];
/// Properties whose values are directories of headers.
const INCLUDES: [&[u8]; 2] =
    [b"INTERFACE_INCLUDE_DIRECTORIES", b"INTERFACE_SYSTEM_INCLUDE_DIRECTORIES"];
/// Properties that name targets to link. IMPORTED_LINK_DEPENDENT_LIBRARIES is not among them: CMake
/// ignores names in it that are not targets.
const LINKS: [&[u8]; 2] = [b"INTERFACE_LINK_LIBRARIES", b"IMPORTED_LINK_INTERFACE_LIBRARIES"];

/// The way in which a command changes a property.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PropertyChange {
    /// The command replaces the value.
    Set,
    /// The command adds an item to the list.
    AppendItem,
    /// The command adds text to the end of the value.
    AppendText,
}

impl Eval<'_> {
    /// Evaluates `add_library(name [kind] IMPORTED [GLOBAL])`, `add_library(name ALIAS other)` and
    /// `add_executable(name …)`.
    pub(super) fn add_target(&mut self, words: &[ArgumentWord], is_program: bool) {
        let Some(name) = words.first().and_then(ArgumentWord::text) else { return };
        let maybe = !self.certain();
        let name: Text = name.into();
        // CMake does not allow linking to a MODULE library.
        let is_program = is_program || words.get(1).is_some_and(|word| word.is("MODULE"));
        // An alias has the properties of another target. They are treated as unknown.
        let is_open = words.get(1).is_some_and(|word| word.is("ALIAS"));
        let target = DefinedTarget { maybe, is_program, is_open, ..DefinedTarget::default() };
        self.state.targets.entry(name).or_insert(target);
    }

    /// Handles a command that may set any property of the targets that its words name. An unknown
    /// word may name any target.
    pub(super) fn open_targets(&mut self, words: &[ArgumentWord]) {
        if words.iter().any(|word| word.value.is_none()) {
            self.state.targets.values_mut().for_each(|target| target.is_open = true);
        }
        for name in words.iter().filter_map(ArgumentWord::text) {
            if let Some(target) = self.state.targets.get_mut(name) {
                target.is_open = true;
            }
        }
    }

    pub(super) fn property(
        &mut self,
        target: &[u8],
        name: &[u8],
        value: MaybeText,
        change: PropertyChange,
    ) {
        let site = self.certain().then(|| self.site());
        let Some(known_target) = self.state.targets.get(target) else {
            return self.touch(target, name);
        };
        let old = known_target.properties.get(name).map(|(value, _)| value.clone());
        if change != PropertyChange::Set {
            self.copy(old.iter().flatten().map(|old| ITEM * old.len()).sum());
        }
        let Some(target) = self.state.targets.get_mut(target) else { return };
        let value = match old {
            Some(old) if change != PropertyChange::Set => match (old, value) {
                (Some(old), Some(new)) if old.is_empty() => known(new),
                (Some(old), Some(new)) if change == PropertyChange::AppendText => {
                    known([&*old, &*new].concat())
                }
                (Some(old), Some(new)) => known(joined(&[old.to_vec(), new.to_vec()])),
                _ => None,
            },
            _ => value,
        };
        target.properties.insert(name.into(), (value, site));
    }

    /// Evaluates `set_target_properties(target… PROPERTIES name value…)`.
    pub(super) fn set_target_properties(&mut self, words: &[ArgumentWord]) {
        let Some(at) = words.iter().position(|word| word.is("PROPERTIES")) else { return };
        let targets: Vec<Vec<u8>> =
            words[..at].iter().filter_map(ArgumentWord::text).map(<[u8]>::to_vec).collect();
        if words[..at].iter().any(|word| word.value.is_none()) {
            self.open_targets(words);
        }
        for pair in words[at + 1..].chunks(2) {
            let [name, value] = pair else { continue };
            // After an unknown number of words, names and values cannot be told apart.
            if value.value.is_none() && !value.quoted || name.value.is_none() {
                return self.open_targets(&words[..at]);
            }
            let Some(name) = name.text().map(<[u8]>::to_vec) else { return };
            for target in &targets {
                self.property(target, &name, value.value.clone(), PropertyChange::Set);
            }
        }
    }

    /// Evaluates `set_property(TARGET target… [APPEND | APPEND_STRING] PROPERTY name value…)`.
    pub(super) fn set_property(&mut self, words: &[ArgumentWord]) {
        if !words.first().is_some_and(|word| word.is("TARGET")) {
            return;
        }
        let Some(at) = words.iter().position(|word| word.is("PROPERTY")) else { return };
        let has = |option: &str| words[..at].iter().any(|word| word.is(option));
        let change = match (has("APPEND"), has("APPEND_STRING")) {
            (_, true) => PropertyChange::AppendText,
            (true, false) => PropertyChange::AppendItem,
            (false, false) => PropertyChange::Set,
        };
        if words[..=at].iter().any(|word| word.value.is_none()) {
            self.open_targets(words);
        }
        let Some(name) = words.get(at + 1).and_then(ArgumentWord::text).map(<[u8]>::to_vec) else {
            return self.open_targets(&words[..at]);
        };
        let value = joined_words(words.get(at + 2..).unwrap_or_default());
        let targets: Vec<Vec<u8>> =
            words[1..at].iter().filter_map(ArgumentWord::text).map(<[u8]>::to_vec).collect();
        for target in targets {
            self.property(&target, &name, value.clone(), change);
        }
    }

    /// Evaluates `get_target_property(name target property)` and `get_property(name TARGET target
    /// PROPERTY property)`. The result of any other query is unknown.
    pub(super) fn get_property(&mut self, command: &str, words: &[ArgumentWord]) {
        let text = |at: usize| words.get(at).and_then(ArgumentWord::text).map(<[u8]>::to_vec);
        let Some(name) = text(0) else { return };
        let at = match command {
            "get_target_property" => Some((1, 2)),
            _ if words.get(1).is_some_and(|word| word.is("TARGET"))
                && words.get(3).is_some_and(|word| word.is("PROPERTY"))
                && words.len() == 5 =>
            {
                Some((2, 4))
            }
            _ => None,
        };
        if let Some((target, _)) = at.filter(|_| command == "get_target_property") {
            let is_absent = text(target)
                .is_some_and(|target| self.has_target(&target) == Truth::False && !self.is_open);
            self.may_fail |= is_absent && !self.alone;
            if is_absent && self.certain() && self.alone {
                let what = &b"get_target_property() called with non-existent target"[..];
                self.fatal.get_or_insert_with(|| what.to_vec());
            }
        }
        let queried = at.and_then(|(target, property)| Some((text(target)?, text(property)?)));
        let value = match queried {
            Some((target, property)) => self.property_of(&target, &property),
            None => Some(None),
        };
        match value {
            Some(value) => self.state.set(&name, value),
            None if command == "get_target_property" => {
                let value = [&name[..], b"-NOTFOUND"].concat();
                self.state.set(&name, known(value));
            }
            None => self.forget_variable(&name),
        }
    }

    /// The value of a property of a target; `Some(None)` if the value is unknown. `None` if the
    /// property is certainly not set.
    fn property_of(&self, target: &[u8], property: &[u8]) -> Option<MaybeText> {
        let known_target = self.state.targets.get(target).filter(|t| !t.maybe && !t.foreign);
        let Some(known_target) = known_target else { return Some(None) };
        match known_target.properties.get(property) {
            Some((value, _)) => Some(value.clone()),
            // CMake gives these properties no initial value.
            None if !known_target.is_open && property.starts_with(b"INTERFACE_") => None,
            None => Some(None),
        }
    }

    /// Appends the items of `target_link_libraries(target INTERFACE item…)` or of
    /// `target_include_directories` to `property`.
    pub(super) fn target_list(&mut self, words: &[ArgumentWord], property: &[u8]) {
        let Some(target) = words.first().and_then(ArgumentWord::text).map(<[u8]>::to_vec) else {
            return;
        };
        let is_key = |word: &&ArgumentWord| {
            ["INTERFACE", "PUBLIC", "PRIVATE", "SYSTEM", "BEFORE", "AFTER"]
                .iter()
                .any(|key| word.is(key))
        };
        let values: Vec<ArgumentWord> =
            words[1..].iter().filter(|word| !is_key(word)).cloned().collect();
        self.property(&target, property, joined_words(&values), PropertyChange::AppendItem);
    }

    /// Checks the files and targets to which the package's targets refer.
    pub(super) fn judge_targets(&mut self) {
        let targets = std::mem::take(&mut self.state.targets);
        self.state.targets.clone_from(&targets);
        for (name, target) in &targets {
            if target.maybe || target.foreign {
                continue;
            }
            for (property, (value, site)) in &target.properties {
                let (Some(value), Some(site)) = (value, site) else { continue };
                // A distribution may put the programs of an export into another package than its
                // libraries (LLVM). The same is true of the headers of a private target (Qt). So
                // these files may be missing.
                let is_private = name.ends_with(b"Private") && INCLUDES.contains(&&**property);
                if target.is_program || is_private {
                    continue;
                }
                self.judge_property(name, property, value, site);
            }
        }
    }

    /// The header directories that targets name, including targets that may not exist.
    pub(super) fn include_dirs(&self) -> Vec<PathBuf> {
        let mut out = Vec::new();
        for target in self.state.targets.values() {
            let named = INCLUDES.iter().filter_map(|name| target.properties.get(*name));
            for item in named.filter_map(|(value, _)| value.as_ref()).flat_map(|v| items(v, true)) {
                let path = Path::new(OsStr::from_bytes(&item));
                if path.is_absolute() {
                    out.push(without_dots(path));
                }
            }
        }
        out.arrange();
        out.dedup();
        out
    }

    fn judge_property(&mut self, target: &[u8], property: &[u8], value: &[u8], site: &CommandSite) {
        let is_of = |names: &[&[u8]]| {
            names.iter().any(|name| {
                property.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest[0] == b'_')
            })
        };
        let (is_file, is_include, is_link) =
            (is_of(&FILES), INCLUDES.contains(&property), is_of(&LINKS));
        if !(is_file || is_include || is_link) {
            return;
        }
        let mut open = 0_usize;
        for item in items(value, true) {
            let item = link_only(&item);
            let path = Path::new(OsStr::from_bytes(item));
            // A generator expression that contains semicolons is split into several items.
            let begins = memchr::memmem::find_iter(item, b"$<").count();
            let is_inside = open + begins > 0;
            open = (open + begins).saturating_sub(memchr::memchr_iter(b'>', item).count());
            if is_inside {
                continue;
            }
            if path.is_absolute() {
                let path = without_dots(path);
                let entry = self.host.look(&path);
                if entry == PathEntry::Absent || is_include && entry == PathEntry::File {
                    let (target, property) = (target.to_vec(), property.to_vec());
                    self.record(Event {
                        site: site.clone(),
                        kind: EventKind::Property { target, property, path },
                    });
                }
            } else if is_link
                && memchr::memmem::find(item, b"::").is_some()
                && !item.starts_with(b"-")
            {
                // Names with `::` are targets, never flags.
                let is_lost = self.has_target(item) == Truth::False;
                if is_lost && self.gave_up.is_none() && self.fatal.is_none() && !self.is_open {
                    let (from, to) = (target.to_vec(), item.to_vec());
                    self.record(Event { site: site.clone(), kind: EventKind::Target { from, to } });
                }
            }
        }
    }
}

/// The item inside of `$<LINK_ONLY:…>`; any other item unchanged.
fn link_only(item: &[u8]) -> &[u8] {
    let inside = item.strip_prefix(b"$<LINK_ONLY:").and_then(|rest| rest.strip_suffix(b">"));
    inside.unwrap_or(item)
}
