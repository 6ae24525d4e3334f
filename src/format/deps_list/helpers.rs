//! The functions and macros of a file that link some of their arguments, or give them to variables
//! of their callers. `calls` reads them.

use super::Set;
use super::values::referred;
use crate::format::cmake::CommandInvocation;
use crate::id::{FastMap, FastSet};
use std::collections::BTreeSet;

/// The functions and macros of a file that link some of their arguments, or give them to variables.
#[derive(Default)]
pub(super) struct Helpers {
    /// By name in lower case. Several functions may have the same name.
    pub(super) known: FastMap<Vec<u8>, Vec<Helper>>,
    /// The open functions and macros.
    pub(super) open: Vec<Helper>,
    /// Calls in bodies, by the name of the called function in lower case.
    pub(super) inner: FastMap<Vec<u8>, Vec<InnerCall>>,
    /// Values of sets in bodies that are arguments of calls: the index of the set, the function in
    /// lower case, and the value.
    passed: Vec<(usize, Vec<u8>, String)>,
    /// For each called function: true if the linked arguments of all calls are sets too.
    pub(super) calls: FastMap<Vec<u8>, bool>,
    /// The names of commands of which the file has no earlier definition.
    pub(super) undefined: FastSet<Vec<u8>>,
    /// True if a command may call any function.
    pub(super) is_open: bool,
}

impl Helpers {
    /// Notes the values of the set with the index `at` that are linked arguments of the open
    /// function.
    pub(super) fn note_set(&mut self, set: &Set, at: usize) {
        let Some(open) = self.open.last() else { return };
        let is_linked = |text: &str| {
            let values = referred(text.as_bytes()).and_then(|name| open.variables.get(name));
            let values = values.filter(|values| values.is_list());
            values.is_some_and(|values| open.uses().any(|link| link.values == *values))
        };
        let name = open.name.to_ascii_lowercase();
        for value in set.unknown.iter().filter(|value| is_linked(&value.reason)) {
            self.passed.push((at, name.clone(), value.reason.clone()));
        }
    }

    /// Drops the unknown values of sets that are arguments of calls, if the file has calls and the
    /// arguments of all calls are sets too.
    pub(super) fn drop_passed(&self, sets: &mut [Set]) {
        let is_read = |name: &Vec<u8>| {
            let is_once = self.known.get(name).is_some_and(|known| known.len() == 1);
            is_once && !self.undefined.contains(name) && self.calls.get(name) == Some(&true)
        };
        for (at, name, value) in self.passed.iter().filter(|_| !self.is_open) {
            if let Some(set) = sets.get_mut(*at).filter(|_| is_read(name)) {
                set.unknown.retain(|unknown| unknown.reason != *value);
            }
        }
    }
}

/// A call in the body of a function.
pub(super) struct InnerCall {
    /// The name of the function with the call, in lower case.
    pub(super) caller: Vec<u8>,
    /// The index of this function among those of the same name.
    pub(super) at: usize,
    pub(super) call: CommandInvocation,
}

/// One function or macro.
pub(super) struct Helper {
    pub(super) name: Vec<u8>,
    pub(super) parameters: Vec<Vec<u8>>,
    /// The prefix of `cmake_parse_arguments()`, with `_`.
    pub(super) prefix: Vec<u8>,
    pub(super) keywords: BTreeSet<Vec<u8>>,
    /// The keywords without arguments.
    pub(super) flags: BTreeSet<Vec<u8>>,
    /// The variables with arguments, each with the arguments that it may have.
    pub(super) variables: FastMap<Vec<u8>, Values>,
    pub(super) links: Vec<Link>,
    /// Commands that give arguments to variables of the caller. [`Link::target`] is the variable.
    pub(super) gives: Vec<Link>,
    pub(super) is_macro: bool,
    /// The calls of other functions in the body, with their names in lower case.
    pub(super) inner: Vec<(Vec<u8>, CommandInvocation)>,
}

impl Helper {
    /// The links of arguments, then the commands that give arguments to variables.
    pub(super) fn uses(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().chain(&self.gives)
    }
}

/// Some of the arguments of a call.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Values {
    /// The arguments from this index on.
    From(usize),
    /// The argument with this index.
    At(usize),
    /// The arguments after this keyword.
    After(Vec<u8>),
    /// The arguments before the first keyword that takes arguments. Keywords without arguments may
    /// precede them.
    Unparsed,
}

impl Values {
    /// False for a single argument.
    pub(super) fn is_list(&self) -> bool {
        !matches!(self, Self::At(_))
    }
}

/// A link of some arguments.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Link {
    /// The text of the target in the body. `None` if the first of the values is the target.
    pub(super) target: Option<Vec<u8>>,
    pub(super) values: Values,
    pub(super) is_private: bool,
    pub(super) is_interface: bool,
}
