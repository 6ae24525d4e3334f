//! Reads the values that commands give to variables, the names that they remove from lists, and the
//! names that they give to the files of targets.

use super::Set;
use super::life::is_addition;
use super::scan::{Scan, Scanned};
use super::values::Variables;
use crate::format::cmake::Argument;
use crate::id::{FastMap, FastSet};
use std::collections::BTreeMap;

/// Maximum number of names that are removed from the parts of lists, one by one.
const MOST_REMOVED: usize = 100_000;

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
                let words =
                    names.iter().flat_map(|name| self.bytes(&name.inside).split(|b| *b == b';'));
                out.removed.extend(words.map(|word| (list.to_vec(), word.to_vec())));
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

/// Marks the entries that `list(REMOVE_ITEM …)` removes from their variable, or from a variable
/// that has the values of theirs. `removed` has pairs of a variable and a word.
pub(super) fn mark_removed(sets: &mut [Set], removed: &[(Vec<u8>, Vec<u8>)]) {
    if removed.is_empty() {
        return;
    }
    let mut words_of: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
    for (list, word) in removed {
        words_of.entry(list).or_default().push(word);
    }
    let mut by_name: FastMap<&[u8], Vec<&Set>> = FastMap::default();
    for set in &*sets {
        by_name.entry(&set.name).or_default().push(set);
    }
    let mut left = MOST_REMOVED;
    let mut everywhere: FastSet<&[u8]> = FastSet::default();
    let mut gone: FastMap<Vec<u8>, FastSet<&[u8]>> = FastMap::default();
    for (list, words) in words_of {
        match parts(&by_name, list, words.len(), &mut left) {
            Some(parts) => {
                for part in parts {
                    gone.entry(part.to_vec()).or_default().extend(&words);
                }
            }
            None => everywhere.extend(words),
        }
    }
    drop(by_name);
    for set in sets {
        let here = gone.get(&set.name);
        for entry in &mut set.entries {
            let word = entry.spelling.write(&entry.name).unwrap_or_default();
            entry.is_removed =
                everywhere.contains(&*word) || here.is_some_and(|here| here.contains(&*word));
        }
    }
}

/// The variables whose values are in `list`. `None` if it may have the values of any variable, or
/// if `left` steps are exceeded. Each variable counts as `cost` steps.
fn parts<'s>(
    by_name: &FastMap<&[u8], Vec<&'s Set>>,
    list: &'s [u8],
    cost: usize,
    left: &mut usize,
) -> Option<FastSet<&'s [u8]>> {
    let (mut out, mut todo): (FastSet<&[u8]>, _) = ([list].into_iter().collect(), vec![list]);
    while let Some(name) = todo.pop() {
        *left = left.checked_sub(cost)?;
        for set in by_name.get(name).into_iter().flatten() {
            // A mention may come from a variable that a loop visits.
            if !set.mentions.is_empty() || !set.unknown.is_empty() {
                return None;
            }
            *left = left.checked_sub(set.references.len())?;
            let parts = set.references.iter().map(|(_, part)| &**part);
            todo.extend(parts.filter(|part| out.insert(*part)));
        }
    }
    Some(out)
}
