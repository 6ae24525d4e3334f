//! What a package sees of the packages whose evaluation encloses its own: their variables, targets
//! and commands.

use super::eval::Eval;
use super::state::{Function, State};
use super::value::{Truth, Value, items};

const MODULE_PATH: &[u8] = b"CMAKE_MODULE_PATH";

/// The variables, targets and commands of a package during a request.
#[derive(Default)]
pub struct Scope {
    pub(super) state: State,
}

/// Something that a package seeks in enclosing scopes.
pub enum Sought<'a> {
    /// A variable.
    Variable(&'a [u8]),
    /// A function or macro.
    Command(&'a str),
    /// A target.
    Target(&'a [u8]),
    /// Directories in CMAKE_MODULE_PATH.
    ModulePath,
}

impl Scope {
    /// True if the scope has it, or may have it.
    pub fn has(&self, sought: &Sought<'_>) -> bool {
        let state = &self.state;
        match sought {
            Sought::Variable(name) => state.has_variable(name),
            Sought::Command(name) => state.functions.contains_key(*name),
            Sought::Target(name) => state.has_target(name) != Truth::False,
            Sought::ModulePath => state.get(MODULE_PATH).is_none_or(|list| !list.is_empty()),
        }
    }
}

impl Eval<'_> {
    /// The value of a variable that only an enclosing package set.
    pub(super) fn outer_value(&self, name: &[u8]) -> Option<Value> {
        if self.alone
            || self.state.is_defined(name) != Truth::False
            || self.state.hidden.contains(name)
        {
            return None;
        }
        self.host.enclosing(&Sought::Variable(name)).map(|scope| scope.state.get(name))
    }

    /// Removes a variable, also for this package if an enclosing one set it.
    pub(super) fn forget_variable(&mut self, name: &[u8]) {
        self.state.unset(name);
        if !self.alone && self.host.enclosing(&Sought::Variable(name)).is_some() {
            self.state.hidden.insert(name.into());
        }
    }

    /// The directories of CMAKE_MODULE_PATH, `None` if they are not known.
    pub(super) fn module_path(&self) -> Option<Vec<Vec<u8>>> {
        let own = self.value_of(MODULE_PATH)?;
        let mut dirs = items(&own, true);
        if !self.alone
            && let Some(scope) = self.host.enclosing(&Sought::ModulePath)
        {
            dirs.extend(items(&scope.state.get(MODULE_PATH)?, true));
        }
        Some(dirs)
    }

    /// True if the package or an enclosing one defines a target.
    pub(super) fn has_target(&self, name: &[u8]) -> Truth {
        let own = self.state.has_target(name);
        if self.alone || own != Truth::False {
            return own;
        }
        let scope = self.host.enclosing(&Sought::Target(name));
        scope.map_or(own, |scope| scope.state.has_target(name))
    }

    /// A function or macro that an enclosing package defined.
    pub(super) fn outer_function(&self, name: &str) -> Option<Function> {
        if self.alone {
            return None;
        }
        let scope = self.host.enclosing(&Sought::Command(name))?;
        scope.state.functions.get(name).cloned()
    }
}
