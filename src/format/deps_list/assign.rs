//! Reads the values that commands give to variables, the names that commands remove from lists, and
//! the file names of targets. Also finds the kinds and aliases of targets.

use super::life::{CacheEntry, is_addition};
use super::removed::Removal;
use super::scan::{Scan, Scanned};
use super::values::Variables;
use super::{Set, SetCommand};
use crate::format::cmake::{Argument, ArgumentKind};

impl Scan<'_> {
    /// The cache variable that the command sets or unsets.
    pub(super) fn cache_entry(&self) -> Option<(&[u8], CacheEntry)> {
        let [name, rest @ ..] = self.arguments() else { return None };
        let at = rest.iter().position(|word| self.word(word) == b"CACHE")?;
        let is_forced = |word: &Argument| matches!(self.word(word), b"FORCE" | b"INTERNAL");
        let entry = match &*self.name() {
            b"unset" => CacheEntry::Gone,
            b"set" if rest[at..].iter().any(is_forced) => CacheEntry::Forced,
            b"set" => CacheEntry::Default,
            _ => return None,
        };
        Some((self.bytes(&name.inside), entry))
    }

    /// Collects values of variables, removed names, and facts about targets from the command.
    pub(super) fn others(&self, out: &mut Scanned, variables: &mut Variables) {
        let arguments = self.arguments();
        let is = |argument: &Argument, word: &[u8]| self.word(argument) == word;
        self.name_target(out, variables);
        match (&*self.name(), arguments) {
            (b"project", [name, ..]) => {
                for variable in [&b"PROJECT_NAME"[..], b"CMAKE_PROJECT_NAME"] {
                    variables.add(variable, self.bytes(&name.inside));
                }
            }
            (b"set", [name, values @ ..]) => {
                self.define(name, &values[..self.values_end(values)], variables);
            }
            (b"list", [action, name, values @ ..]) if is_addition(self.word(action)) => {
                self.define(name, values, variables);
            }
            (b"string", [action, name, values @ ..]) if is(action, b"APPEND") => {
                self.define(name, values, variables);
            }
            (b"list", [action, list, names @ ..]) if is(action, b"REMOVE_ITEM") => {
                let list = self.bytes(&list.inside);
                for name in names {
                    // In quotes, a semicolon is a part of the word.
                    let is_list = |b: &u8| *b == b';' && name.kind == ArgumentKind::Unquoted;
                    for word in self.bytes(&name.inside).split(is_list) {
                        let words = complete(variables, word).into_iter().flatten();
                        let removal = |word| Removal { list: list.to_vec(), word };
                        out.removals.extend(words.map(removal));
                    }
                }
            }
            (b"foreach", [name, values @ ..]) => match values {
                [first, ..] if is(first, b"RANGE") => {}
                [first, rest @ ..] if is(first, b"IN") => self.items(name, rest, variables),
                values => self.define(name, values, variables),
            },
            (b"find_library", [name, values @ ..]) => {
                let is_option = |value: &&Argument| {
                    let word = self.word(value);
                    word.len() > 2 && word.iter().all(|b| b.is_ascii_uppercase() || *b == b'_')
                };
                let skipped = usize::from(values.first().is_some_and(|first| is(first, b"NAMES")));
                let names = values[skipped..].iter().take_while(|value| !is_option(value));
                names.for_each(|value| self.define(name, std::slice::from_ref(value), variables));
            }
            (b"get_property", [out, kind, property, name])
                if is(kind, b"GLOBAL") && is(property, b"PROPERTY") =>
            {
                let reference = [b"${", self.bytes(&name.inside), b"}"].concat();
                variables.add(self.bytes(&out.inside), &reference);
            }
            (b"add_library", [alias, kind, target]) if is(kind, b"ALIAS") => {
                let target = self.bytes(&target.inside).to_vec();
                out.aliases.insert(self.bytes(&alias.inside).to_vec(), target);
            }
            (b"add_library", [target, kind, rest @ ..]) => {
                let target = self.bytes(&target.inside);
                if is(kind, b"SHARED") || is(kind, b"MODULE") {
                    out.shared.insert(target.to_vec());
                }
                // An imported target has libraries only for the targets that link it.
                let is_imported = rest.first().is_some_and(|word| is(word, b"IMPORTED"));
                if is(kind, b"INTERFACE") || is_imported {
                    out.interfaces.insert(target.to_vec());
                }
            }
            (b"set_target_properties" | b"set_property", arguments) => {
                if let Some((name, values)) = self.global_property() {
                    self.define(name, values, variables);
                }
                let at = arguments.iter().position(|word| is(word, b"OUTPUT_NAME"));
                let Some(output) = at.and_then(|at| arguments.get(at + 1)) else { return };
                let end = |word: &&Argument| !is(word, b"PROPERTIES") && !is(word, b"PROPERTY");
                let targets = arguments.iter().take_while(end);
                let output = self.bytes(&output.inside);
                let pair =
                    |target: &Argument| (self.bytes(&target.inside).to_vec(), output.to_vec());
                out.outputs.extend(targets.map(pair));
            }
            _ => {}
        }
    }

    /// Collects the names of a target that the command creates with variables in its name.
    fn name_target(&self, out: &mut Scanned, variables: &mut Variables) {
        let (b"add_library" | b"add_executable", [target, ..]) = (&*self.name(), self.arguments())
        else {
            return;
        };
        let target = self.bytes(&target.inside);
        if memchr::memmem::find(target, b"${").is_some() {
            let names = complete(variables, target).into_iter().flatten();
            out.target_names.extend(names.map(|name| (target.to_vec(), name)));
        }
    }

    /// Notes the variable if the command reorders or deduplicates its values.
    pub(super) fn order(&self, out: &mut Scanned) {
        let (b"list", [action, list, ..]) = (&*self.name(), self.arguments()) else { return };
        let list = self.bytes(&list.inside).to_vec();
        match self.word(action) {
            b"REVERSE" | b"SORT" => out.reordered.insert(list),
            b"REMOVE_DUPLICATES" => out.deduplicated.insert(list),
            _ => return,
        };
    }

    /// True if the command adds its values before the existing values of the variable:
    /// `list(PREPEND X a)`, `list(INSERT X 0 a)`, `set(X a ${X})` or `set(X ${A} ${X})`.
    pub(super) fn adds_in_front(&self, set: &Set) -> bool {
        match (&*self.name(), self.arguments()) {
            (b"list", [action, _, index, ..]) => match self.word(action) {
                b"PREPEND" => true,
                b"INSERT" => self.word(index) == b"0",
                _ => false,
            },
            (b"set", _) if set.origin == SetCommand::Append => {
                let is_last = |(before, name): &(usize, Vec<u8>)| {
                    *name == set.name
                        && *before == set.entries.len()
                        && (*before > 0 || set.references.len() > 1)
                };
                set.references.last().is_some_and(is_last)
            }
            _ => false,
        }
    }

    fn define(&self, name: &Argument, values: &[Argument], variables: &mut Variables) {
        for value in values {
            variables.add(self.bytes(&name.inside), self.bytes(&value.inside));
        }
    }

    /// Reads the values of `foreach(NAME IN …)`.
    fn items(&self, name: &Argument, values: &[Argument], variables: &mut Variables) {
        let mut is_list = false;
        for value in values {
            match self.word(value) {
                b"LISTS" => is_list = true,
                b"ITEMS" => is_list = false,
                _ if is_list => {
                    let reference = [b"${", self.bytes(&value.inside), b"}"].concat();
                    variables.add(self.bytes(&name.inside), &reference);
                }
                _ => self.define(name, std::slice::from_ref(value), variables),
            }
        }
    }
}

/// All texts to which `text` may expand. `None` if there are too many, or if one of them is
/// unknown. A text is unknown if it refers to a variable that the file does not set, or contains
/// `$ENV{…}` or `@NAME@`.
fn complete(variables: &mut Variables, text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let is_open = |text: &Vec<u8>| {
        memchr::memmem::find(text, b"$ENV{").is_some()
            || memchr::memchr_iter(b'@', text).count() > 1
    };
    variables.expanded(text).filter(|texts| !texts.iter().any(is_open))
}
