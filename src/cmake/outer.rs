//! Lookups in enclosing scopes: the scopes of the packages that request the evaluated package.

use super::eval::Eval;
use super::state::{DefinedTarget, EvalState, Function, Text};
use super::targets::PropertyChange;
use super::value::{ArgumentWord, MaybeText, Truth};
use super::{FindResult, Package};
use std::sync::Arc;

/// The variables, targets and commands of a package while it requests another package.
#[derive(Default)]
pub struct PackageScope {
    pub(super) state: EvalState,
}

/// A name that a package looks up in enclosing scopes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum ScopeLookup {
    /// The name of a variable.
    Variable(Arc<[u8]>),
    /// The name of a function or macro, in lower case.
    Command(String),
    /// The name of a target.
    Target(Arc<[u8]>),
}

/// The answer of the enclosing scopes to a [`ScopeLookup`].
#[derive(Clone)]
pub enum ScopeAnswer {
    /// No enclosing scope has the name.
    Absent,
    /// The value of a variable, `None` if it is not known.
    Variable(Option<Arc<[u8]>>),
    /// The function or macro with the name.
    Command(Function),
    /// A target: true if it exists, unknown if it may exist.
    Target(Truth),
}

impl PartialEq for ScopeAnswer {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Absent, Self::Absent) => true,
            (Self::Variable(a), Self::Variable(b)) => a == b,
            (Self::Target(a), Self::Target(b)) => a == b,
            (Self::Command(a), Self::Command(b)) => a.path == b.path && a.begin == b.begin,
            _ => false,
        }
    }
}

impl PackageScope {
    /// The result of the lookup in this scope; `None` if the enclosing scope decides.
    pub fn answer(&self, sought: &ScopeLookup) -> Option<ScopeAnswer> {
        let state = &self.state;
        match sought {
            ScopeLookup::Variable(name) if state.has_variable(name) => {
                Some(ScopeAnswer::Variable(state.get(name)))
            }
            ScopeLookup::Variable(name) if state.hidden.contains(name) => Some(ScopeAnswer::Absent),
            ScopeLookup::Variable(name) => {
                state.is_obscured(name).then_some(ScopeAnswer::Variable(None))
            }
            ScopeLookup::Command(name) => {
                state.functions.get(name).cloned().map(ScopeAnswer::Command)
            }
            ScopeLookup::Target(name) => Some(state.has_target(name))
                .filter(|it| *it != Truth::False)
                .map(ScopeAnswer::Target),
        }
    }
}

impl Eval<'_> {
    /// The value of a variable in an enclosing scope; `Some(None)` if the value is unknown.
    /// `None` if no enclosing scope has the variable. Also `None` if this package set or unset
    /// the variable, or if unevaluated code may have set it.
    pub(super) fn outer_value(&self, name: &[u8]) -> Option<MaybeText> {
        let state = &self.state;
        let is_own =
            state.has_variable(name) || state.hidden.contains(name) || state.is_obscured(name);
        if self.alone || is_own {
            return None;
        }
        match self.host.enclosing(&ScopeLookup::Variable(name.into())) {
            ScopeAnswer::Variable(value) => Some(value),
            _ => None,
        }
    }

    /// Unsets a variable. A variable that an enclosing package set is hidden from this package.
    pub(super) fn forget_variable(&mut self, name: &[u8]) {
        self.state.unset(name);
        if self.outer_value(name).is_some() {
            self.state.hidden.insert(name.into());
        }
    }

    /// True if this package, or a package that requests it, defines the target.
    pub(super) fn has_target(&self, name: &[u8]) -> Truth {
        let own = self.state.has_target(name);
        if self.alone || own != Truth::False {
            return own;
        }
        match self.host.enclosing(&ScopeLookup::Target(name.into())) {
            ScopeAnswer::Target(truth) => truth,
            _ => own,
        }
    }

    /// A function or macro that an enclosing package defined; `None` if there is none.
    pub(super) fn outer_function(&self, name: &str) -> Option<Function> {
        if self.alone {
            return None;
        }
        match self.host.enclosing(&ScopeLookup::Command(name.to_owned())) {
            ScopeAnswer::Command(function) => Some(function),
            _ => None,
        }
    }

    /// Records that this package may set a property of a target that another package defined.
    pub(super) fn touch(&mut self, target: &[u8], property: &[u8]) {
        if !self.alone {
            let names: (Text, Text) = (target.into(), property.into());
            self.touched.insert(names);
        }
    }

    /// Takes over the variables, targets and functions of a package that this package requested.
    pub(super) fn take(&mut self, package: Package) {
        self.assumed.extend(package.assumed);
        self.is_open |= package.is_open || package.found == FindResult::Unknown;
        self.has_modules |= package.has_modules;
        self.has_processes |= package.has_processes;
        for name in package.removed {
            self.forget_variable(&name);
        }
        for (target, property) in package.touched {
            self.property(&target, &property, None, PropertyChange::Set);
            self.open_targets(&[ArgumentWord { value: Some(target), quoted: false }]);
        }
        let is_certain = package.found == FindResult::Yes;
        for (name, value) in package.variables {
            self.state.set(&name, value.filter(|_| is_certain));
        }
        for (name, certain) in package.targets {
            let maybe = !certain || !is_certain;
            let target = DefinedTarget { maybe, foreign: true, ..DefinedTarget::default() };
            self.state.targets.entry(name).or_insert(target);
        }
        for (name, function) in package.functions {
            self.state.functions.entry(name).or_insert(function);
        }
        self.state.namespaces.extend(package.namespaces);
    }
}
