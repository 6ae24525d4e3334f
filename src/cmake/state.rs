//! The state of a CMake script: variables, targets and functions. The states of two possible
//! branches merge into one. In the merged state, a value is known only if both branches have the
//! same value.

use super::parsed::Parsed;
use super::value::{MaybeText, Truth};
use crate::id::FastMap;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// The name of a variable, target or property, or a known text.
pub(crate) type Text = Arc<[u8]>;

/// The position of a command in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSite {
    /// The file with the command.
    pub file: Arc<Path>,
    /// The line of the command, from 1.
    pub line: u32,
}

/// A target of the evaluated package, or of a package that it requests.
#[derive(Clone, Debug, Default)]
pub(super) struct DefinedTarget {
    /// True if only some of the possible branches define the target.
    pub(super) maybe: bool,
    /// True for a program or a MODULE library. CMake does not allow linking to either, so no
    /// consumer fails if the file of the target does not exist.
    pub(super) is_program: bool,
    /// True if the target may have properties that are unknown.
    pub(super) is_open: bool,
    /// True if another package defined the target. The evaluation of that package checks the
    /// target.
    pub(super) foreign: bool,
    /// Properties, each with its value and the command that set it last. `None` instead of the
    /// command if the command ran only under an unknown condition.
    pub(super) properties: BTreeMap<Text, (MaybeText, Option<CommandSite>)>,
}

/// A function or macro, whose body is in a parsed file.
#[derive(Clone, Debug)]
pub struct Function {
    pub(super) file: Arc<Parsed>,
    pub(super) path: Arc<Path>,
    /// Index in the file of the command that begins the function or macro.
    pub(super) begin: usize,
    pub(super) is_macro: bool,
}

#[derive(Clone, Default)]
pub(super) struct EvalState {
    /// The variables of each scope (the package, a function, `block()`), the innermost last. A new
    /// scope is a copy of the scope around it.
    pub(super) scopes: Vec<FastMap<Text, MaybeText>>,
    pub(super) targets: BTreeMap<Text, DefinedTarget>,
    pub(super) functions: FastMap<String, Function>,
    /// Variables of enclosing packages that this package unset.
    pub(super) hidden: BTreeSet<Text>,
    /// Prefixes of the names of variables that unevaluated code may have set.
    pub(super) clouds: BTreeSet<Text>,
    /// Prefixes of the names of targets that unevaluated packages may define.
    pub(super) namespaces: BTreeSet<Text>,
}

impl EvalState {
    pub(super) fn scope(&mut self) -> &mut FastMap<Text, MaybeText> {
        if self.scopes.is_empty() {
            self.scopes.push(FastMap::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// True if a variable is set, even to an unknown value.
    pub(super) fn has_variable(&self, name: &[u8]) -> bool {
        self.scopes.last().is_some_and(|scope| scope.contains_key(name))
    }

    /// The number of entries in the state, which decides the cost of a copy.
    pub(super) fn len(&self) -> usize {
        let properties = self.targets.values().map(|target| 1 + target.properties.len());
        let variables = self.scopes.iter().map(FastMap::len);
        variables.chain(properties).sum::<usize>() + self.functions.len() + self.clouds.len()
    }

    /// The value of a variable: empty if it is not set, `None` if it is unknown.
    pub(super) fn get(&self, name: &[u8]) -> MaybeText {
        match self.scopes.last().and_then(|scope| scope.get(name)) {
            Some(value) => value.clone(),
            None if self.is_cloudy(name) => None,
            None => Some(Text::from(&b""[..])),
        }
    }

    /// The sorted names of all variables in the current scope that start with `start`.
    pub(super) fn names_with(&self, start: &[u8]) -> Vec<Text> {
        let names = self.scopes.last().into_iter().flat_map(FastMap::keys);
        let mut out: Vec<Text> = names.filter(|name| name.starts_with(start)).cloned().collect();
        out.sort();
        out
    }

    /// Makes all variables unknown, even variables that are not set.
    pub(super) fn forget(&mut self) {
        for value in self.scope().values_mut() {
            *value = None;
        }
        self.clouds.insert(b""[..].into());
    }

    pub(super) fn is_defined(&self, name: &[u8]) -> Truth {
        match self.scopes.last().and_then(|scope| scope.get(name)) {
            Some(Some(_)) => Truth::True,
            Some(None) => Truth::Unknown,
            None if self.is_cloudy(name) => Truth::Unknown,
            None => Truth::False,
        }
    }

    /// True for a variable that CMake, a cache or unevaluated code may have set.
    fn is_cloudy(&self, name: &[u8]) -> bool {
        const OF_CMAKE: [&[u8]; 5] = [b"CMAKE_", b"_CMAKE_", b"PROJECT_", b"CPACK_", b"CTEST_"];
        let is_own = name.starts_with(b"CMAKE_FIND_PACKAGE_NAME")
            || name.starts_with(b"CMAKE_IMPORT_FILE_VERSION");
        !is_own && OF_CMAKE.iter().any(|start| name.starts_with(start)) || self.is_obscured(name)
    }

    /// True for a variable that unevaluated code may have set.
    pub(super) fn is_obscured(&self, name: &[u8]) -> bool {
        self.clouds.len() < name.len() && self.clouds.iter().any(|c| name.starts_with(c))
            || self.clouds.len() >= name.len()
                && (0..=name.len()).any(|end| self.clouds.contains(&name[..end]))
    }

    pub(super) fn set(&mut self, name: &[u8], value: MaybeText) {
        self.scope().insert(name.into(), value);
    }

    pub(super) fn unset(&mut self, name: &[u8]) {
        self.scope().remove(name);
    }

    /// Sets a variable in the scope around the current one; a `value` of `None` removes it. Does
    /// nothing if there is no such scope.
    pub(super) fn set_outside(&mut self, name: &[u8], value: Option<MaybeText>) {
        let len = self.scopes.len();
        let Some(scope) = len.checked_sub(2).and_then(|at| self.scopes.get_mut(at)) else { return };
        match value {
            Some(value) => scope.insert(name.into(), value),
            None => scope.remove(name),
        };
    }

    pub(super) fn has_target(&self, name: &[u8]) -> Truth {
        match self.targets.get(name) {
            Some(target) if target.maybe => Truth::Unknown,
            Some(_) => Truth::True,
            None if self.may_be_elsewhere(name) => Truth::Unknown,
            None => Truth::False,
        }
    }

    fn may_be_elsewhere(&self, name: &[u8]) -> bool {
        let starts = |space: &Text| {
            name.get(..space.len()).is_some_and(|start| start.eq_ignore_ascii_case(space))
        };
        self.namespaces.iter().any(starts)
    }

    /// Merges the state of another possible branch into this one.
    pub(super) fn merge(&mut self, other: Self) {
        for (own, other) in self.scopes.iter_mut().zip(other.scopes) {
            for (name, value) in own.iter_mut() {
                if other.get(name) != Some(value) {
                    *value = None;
                }
            }
            for (name, _) in other {
                own.entry(name).or_insert(None);
            }
        }
        for (name, target) in &mut self.targets {
            target.maybe |= !other.targets.contains_key(name);
        }
        for (name, target) in other.targets {
            match self.targets.get_mut(&name) {
                None => {
                    self.targets.insert(name, DefinedTarget { maybe: true, ..target });
                }
                Some(own) => {
                    own.is_open |= target.is_open;
                    for (property, (value, _)) in &mut own.properties {
                        if target.properties.get(property).map(|(value, _)| value) != Some(value) {
                            *value = None;
                        }
                    }
                    for (property, _) in target.properties {
                        own.properties.entry(property).or_insert((None, None));
                    }
                }
            }
        }
        self.functions.extend(other.functions);
        let apart: Vec<Text> = self.hidden.symmetric_difference(&other.hidden).cloned().collect();
        for name in apart {
            self.hidden.remove(&name);
            self.scope().entry(name).or_insert(None);
        }
        self.clouds.extend(other.clouds);
        self.namespaces.extend(other.namespaces);
    }
}
