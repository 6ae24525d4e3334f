//! Finds the variables that the commands of a list use.

use super::trace::{Program, Step, fits};
use super::{DepsList, Set};
use crate::id::{FastMap, FastSet};
use std::collections::BTreeSet;

/// Maximum number of comparisons of names with variables that have unknown names (`${${x}_LIBS}`).
/// If there are more, all names count as used.
const MOST_COMPARED: usize = 1_000_000;

/// The words of a command that may name variables.
#[derive(Default)]
struct Words<'w> {
    /// References to variables: `NAME` for `${NAME}`. Parts of a name may be unknown.
    references: FastSet<&'w [u8]>,
    /// Whole arguments: some commands use the variable that an argument names.
    plain: FastSet<&'w [u8]>,
}

impl DepsList {
    /// The variables of the file's sets that commands may use in other ways than as values of sets.
    /// `is_own` accepts the name of a target: commands for this target do not count, nor do
    /// functions and macros that only such commands call.
    pub fn used_by_others(&self, is_own: &dyn Fn(&[u8]) -> bool) -> BTreeSet<&[u8]> {
        let program = self.program();
        let numbers: FastMap<usize, &Set> = self.sets.iter().map(|set| (set.number, set)).collect();
        let mut words = Words::default();
        let own: Vec<bool> = program.steps.iter().map(|step| self.is_own(step, is_own)).collect();
        let helpers = own_helpers(program, &own);
        let mut end = 0;
        for (at, step) in program.steps.iter().enumerate() {
            if helpers.contains(&at) {
                end = end.max(step.next);
            }
            if at >= end && !own[at] {
                self.note(step, &numbers, &mut words);
            }
        }
        let names: BTreeSet<&[u8]> = self.sets.iter().map(|set| &*set.name).collect();
        let open: Vec<&[u8]> =
            words.references.iter().copied().filter(|r| r.contains(&b'$')).collect();
        if open.len() * names.len() > MOST_COMPARED {
            return names;
        }
        let is_used = |name: &&[u8]| {
            words.references.contains(*name)
                || words.plain.contains(*name)
                || open.iter().any(|pattern| fits(pattern, name))
        };
        names.into_iter().filter(is_used).collect()
    }

    pub(super) fn words<'l>(&'l self, step: &'l Step) -> impl Iterator<Item = &'l [u8]> {
        let arguments = step.call.arguments.iter();
        arguments.map(|word| self.text.get(word.inside.clone()).unwrap_or_default())
    }

    /// True for a command whose first argument, apart from keywords, is the name or the path of the
    /// target.
    fn is_own(&self, step: &Step, is_own: &dyn Fn(&[u8]) -> bool) -> bool {
        let is_keyword = |word: &[u8]| word.iter().all(|b| b.is_ascii_uppercase() || *b == b'_');
        let first = self.words(step).find(|word| !is_keyword(word));
        let name = first.and_then(|word| word.rsplit(|b| *b == b'/').next());
        name.is_some_and(is_own)
    }

    /// Adds the words with which a command may use variables. A command that sets a variable does
    /// not use this variable. Values of sets are left out.
    fn note<'l>(&'l self, step: &'l Step, numbers: &FastMap<usize, &'l Set>, out: &mut Words<'l>) {
        let sets: Vec<&Set> =
            step.sets.iter().filter_map(|(set, ..)| numbers.get(set).copied()).collect();
        let is_value = |name: &[u8]| {
            sets.iter().any(|set| set.references.iter().any(|(_, part)| part == name))
        };
        let words: Vec<&[u8]> = self.words(step).collect();
        let found = words.iter().flat_map(|word| references(word));
        let plain = match (&*step.name, words.as_slice()) {
            (b"message" | b"else" | b"function" | b"macro", _) => return,
            (name, _) if name.starts_with(b"end") => return,
            (b"set" | b"unset" | b"foreach", [_, rest @ ..]) => rest,
            (
                b"list",
                [
                    b"APPEND" | b"PREPEND" | b"REMOVE_ITEM" | b"REMOVE_DUPLICATES" | b"SORT"
                    | b"REVERSE" | b"FILTER",
                    _,
                    rest @ ..,
                ],
            )
            | (b"string", [b"APPEND" | b"PREPEND", _, rest @ ..]) => rest,
            (_, all) => all,
        };
        out.references.extend(found.filter(|name| !is_value(name)));
        out.plain.extend(plain.iter().copied().filter(|word| !is_value(word)));
    }
}

/// The functions and macros that only own commands call, as indices of their first commands.
fn own_helpers(program: &Program, own: &[bool]) -> FastSet<usize> {
    let mut called: FastMap<usize, bool> = FastMap::default();
    for (step, is_own) in program.steps.iter().zip(own) {
        if let Some(Some(at)) = program.functions.get(&step.name) {
            *called.entry(*at).or_insert(true) &= *is_own;
        }
    }
    called.into_iter().filter(|(_, is_own)| *is_own).map(|(at, _)| at).collect()
}

/// The names in the references of a text, with those inside of other references.
fn references(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    memchr::memmem::find_iter(text, b"${").filter_map(move |begin| {
        let rest = &text[begin + 2..];
        let mut depth = 0_usize;
        let end = rest.iter().position(|b| {
            let is_end = *b == b'}' && depth == 0;
            match b {
                b'{' => depth += 1,
                b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            is_end
        });
        end.map(|end| &rest[..end])
    })
}
