//! Reads the values that commands give to variables, the names that they remove from lists, and the
//! names that they give to the files of targets. Finds the kinds and aliases of targets.

use super::life::is_addition;
use super::removed::{Removal, RemovedNames};
use super::scan::{Scan, Scanned};
use super::values::Variables;
use super::{Set, SetCommand};
use crate::format::cmake::{Argument, ArgumentKind};

impl Scan<'_> {
    /// Reads what the command says about variables, removed names and names of files.
    pub(super) fn others(&self, out: &mut Scanned, variables: &mut Variables) {
        let arguments = self.arguments();
        let is = |argument: &Argument, word: &[u8]| self.word(argument) == word;
        match (&*self.name(), arguments) {
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
                        out.removals.extend(removals(list, action, word, variables));
                    }
                }
            }
            (b"list", [action, list, mode, _, pattern]) if is(action, b"FILTER") => {
                // Several values of a variable are alternatives.
                let patterns = complete(variables, self.bytes(&pattern.inside));
                let names = match (patterns.as_deref(), self.word(mode)) {
                    (Some([pattern]), b"EXCLUDE") => RemovedNames::Matching(unescaped(pattern)),
                    (Some([pattern]), _) => RemovedNames::Others(unescaped(pattern)),
                    _ => RemovedNames::Unknown,
                };
                out.removals.push(removal(self.bytes(&list.inside), action, names));
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
            (b"add_library", [alias, kind, target]) if is(kind, b"ALIAS") => {
                let target = self.bytes(&target.inside).to_vec();
                out.aliases.insert(self.bytes(&alias.inside).to_vec(), target);
            }
            (b"add_library", [target, kind, ..]) if is(kind, b"SHARED") || is(kind, b"MODULE") => {
                out.shared.insert(self.bytes(&target.inside).to_vec());
            }
            (b"add_library", [target, kind, ..]) if is(kind, b"INTERFACE") => {
                out.interfaces.insert(self.bytes(&target.inside).to_vec());
            }
            (b"set_target_properties" | b"set_property", arguments) => {
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

    /// The variable whose values the command reverses.
    pub(super) fn reversed(&self) -> Option<&[u8]> {
        match self.arguments() {
            [action, list] if self.word(action) == b"REVERSE" && self.name() == b"list" => {
                Some(self.bytes(&list.inside))
            }
            _ => None,
        }
    }

    /// True if the command adds its values before those that the variable has: `list(PREPEND X a)`,
    /// `list(INSERT X 0 a)`, `set(X a ${X})` or `set(X ${A} ${X})`.
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

/// The removals of a word of `list(REMOVE_ITEM …)`. A variable may have its values only under
/// conditions, so their removal is not certain.
fn removals(
    list: &[u8],
    action: &Argument,
    word: &[u8],
    variables: &mut Variables,
) -> Vec<Removal> {
    let is_conditional = memchr::memmem::find(word, b"${").is_some();
    let one = |names| Removal { is_conditional, ..removal(list, action, names) };
    match complete(variables, word) {
        Some(words) => words.into_iter().map(|word| one(RemovedNames::Equal(word))).collect(),
        None => vec![one(RemovedNames::Unknown)],
    }
}

fn removal(list: &[u8], action: &Argument, names: RemovedNames) -> Removal {
    let at = action.span.start;
    Removal {
        list: list.to_vec(),
        line: action.line,
        names,
        at,
        is_conditional: false,
        blocks: Vec::new(),
    }
}

/// The texts that `text` stands for. `None` if a variable of it has values that the file does not
/// tell.
fn complete(variables: &mut Variables, text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let is_open = |text: &Vec<u8>| {
        memchr::memmem::find(text, b"$ENV{").is_some()
            || memchr::memchr_iter(b'@', text).count() > 1
    };
    variables.expanded(text).filter(|texts| !texts.iter().any(is_open))
}

/// The text of a regular expression, in which CMake reads `\\` as a backslash.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((first, more)) = rest.split_first() {
        out.push(*first);
        rest = if *first == b'\\' { more.strip_prefix(b"\\").unwrap_or(more) } else { more };
    }
    out
}
