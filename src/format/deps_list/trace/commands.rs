//! Runs the commands that set variables and link targets.

use super::super::scan::is_scope;
use super::arguments::{Words, joined};
use super::program::Step;
use super::run::{Flow, Run};
use super::state::{Scope, State};
use super::value::{Word, hash, is_open};
use std::sync::Arc;

/// The name under which the libraries of `link_libraries()` are stored.
pub(super) const LINK_LIBRARIES: &[u8] = b"link_libraries";
/// The variable with LLVM's list of components.
pub(super) const COMPONENTS: &[u8] = b"LLVM_LINK_COMPONENTS";

impl Run<'_> {
    /// Runs one command.
    pub(super) fn command(&mut self, step: &Step) -> Flow {
        let arguments = self.arguments(step);
        for (set, ..) in &step.sets {
            if self.adds_again(*set, step, &arguments) {
                self.repeated.insert(*set);
            }
        }
        self.call(&step.name, &arguments)
    }

    /// True if the command adds the new name of `set` to a variable that has the name already from
    /// an earlier run of this command.
    fn adds_again(&self, set: usize, step: &Step, arguments: &[Words]) -> bool {
        let is_new = |word: &Word| word.mark.is_some_and(|mark| mark.is_new && mark.set == set);
        let added = arguments.iter().flat_map(|argument| &argument.words);
        let added = added.filter(|word| is_new(word)).count();
        let value = match (&*step.name, arguments) {
            (b"list", [_, name, ..]) => name.name().and_then(|name| self.state.get(name)),
            _ => None,
        };
        let before = value.map_or(0, |value| value.iter().filter(|word| is_new(word)).count());
        added > 0 && added + before > 1
    }

    /// Runs the command `name`: a function of the file, or a command of CMake.
    pub(super) fn call(&mut self, name: &[u8], arguments: &[Words]) -> Flow {
        // A function of another file may call a function that the file defines later.
        let found = self.defined.get(name).or_else(|| self.program.functions.get(name));
        if let Some(found) = found.copied() {
            return match found {
                Some(at) => self.function(at, arguments),
                None => self.unknown(name, arguments),
            };
        }
        match (name, arguments) {
            (b"set", [name, values @ ..]) => self.set(name, values),
            (b"unset", [name, rest @ ..]) => self.unset(name, rest),
            (b"list", [action, list, values @ ..]) => {
                let action = action.keyword().to_vec();
                self.list(&action, list, values);
            }
            (b"string", [action, values @ ..]) => {
                let action = action.keyword().to_vec();
                self.string(&action, values);
            }
            (b"find_library" | b"find_path" | b"find_file" | b"find_program", [name, ..]) => {
                self.find(name, &arguments[1..]);
            }
            (b"option", [name, ..]) => self.cached.extend(name.name().map(<[u8]>::to_vec)),
            (b"project", [name, ..]) => {
                // `CMAKE_PROJECT_NAME` may be the name of another project, in the top directory.
                self.state.set(b"PROJECT_NAME", name.words.clone());
            }
            (b"llvm_map_components_to_libnames", [name, values @ ..]) => {
                let mut values = values.to_vec();
                self.name_components(&mut values);
                self.set(name, &values);
            }
            (b"cmake_parse_arguments", _) => self.parse_arguments(arguments),
            (b"cmake_language", [action, command, rest @ ..])
                if matches!(action.keyword(), b"CALL" | b"DEFER") =>
            {
                let is_call = action.keyword() == b"CALL" || command.keyword() == b"CALL";
                let all = [std::slice::from_ref(command), rest].concat();
                let start = usize::from(command.keyword() == b"CALL");
                let called = all[start..].split_first().filter(|_| is_call);
                let called = called.and_then(|(name, rest)| Some((name.text()?.to_vec(), rest)));
                match called {
                    Some((name, rest)) => return self.call(&name.to_ascii_lowercase(), rest),
                    None => self.unknown(name, arguments),
                };
            }
            (b"get_property", [out, kind, property, name])
                if kind.keyword() == b"GLOBAL" && property.keyword() == b"PROPERTY" =>
            {
                let known = name.name().and_then(|name| self.state.properties.get(name)).cloned();
                match known {
                    Some(words) => {
                        self.named(out, |state, name| state.set(name, words.to_vec()));
                    }
                    None => self.open(out),
                }
            }
            // Another file or text may change any variable.
            (b"include", [file, ..]) if is_path(file) => self.doubt_all(|_| true, 2),
            (b"cmake_language", _) => self.doubt_all(|_| true, 3),
            (b"return", [action, names @ ..]) if action.keyword() == b"PROPAGATE" => {
                self.propagate(names);
                return Flow::Return;
            }
            (b"return", _) => return Flow::Return,
            (b"break", _) => return Flow::Break,
            (b"continue", _) => return Flow::Continue,
            (b"message", [mode, ..]) if mode.keyword() == b"FATAL_ERROR" => return Flow::Stop,
            _ if self.links(name, arguments) => {}
            _ if is_harmless(name) => {}
            _ => return self.unknown(name, arguments),
        }
        Flow::Next
    }

    /// Runs `find_library()` and similar commands, which set a cache variable if it has no value.
    /// The value is one unknown path. It stands for the archive that the command searches for.
    fn find(&mut self, name: &Words, rest: &[Words]) {
        let is_known = |name: &[u8]| !is_open(name) && self.state.get(name).is_some();
        if name.name().is_some_and(is_known) {
            return;
        }
        let mut word = Word::new(&[b"@", name.name().unwrap_or_default(), b"@"].concat());
        let searched = rest.iter().find(|word| word.keyword() != b"NAMES");
        if let Some(searched) = searched.and_then(|word| word.words.first()) {
            (word.mark, word.doubt) = (searched.mark, searched.doubt);
        }
        self.cache(name, std::slice::from_ref(&word));
        self.named(name, move |state, name| state.set(name, vec![word.clone()]));
    }

    /// Replaces new names among components of LLVM by the names of their archives.
    fn name_components(&self, values: &mut [Words]) {
        for word in values.iter_mut().flat_map(|value| &mut value.words) {
            let new =
                word.mark.filter(|mark| mark.is_new).and_then(|mark| self.news.get(&mark.set));
            if let Some(archive) = new.and_then(|new| new.archive.as_deref()) {
                word.text = archive.into();
            }
        }
    }

    /// Calls `change` with the variable `name`. If the name has unknown parts, the words of every
    /// variable that it may stand for get a doubt.
    pub(super) fn named(&mut self, name: &Words, change: impl Fn(&mut State, &[u8])) {
        match name.name() {
            Some(name) if !is_open(name) => change(&mut self.state, name),
            // The command sets a variable whose name has unknown parts.
            Some(name) => {
                let name = name.to_vec();
                self.doubt_all(|other| fits(&name, other), hash(&name));
            }
            None => self.doubt_all(|_| true, 1),
        }
    }

    /// Adds a doubt to all words of the variables whose names `is` accepts.
    fn doubt_all(&mut self, is: impl Fn(&[u8]) -> bool, condition: u64) {
        let scope = self.state.scopes.last();
        let names = scope.into_iter().flat_map(|scope| scope.keys());
        let names: Vec<Vec<u8>> = names.filter(|name| is(name)).cloned().collect();
        for name in names {
            self.doubt(&name, condition, |_| true);
        }
    }

    /// Adds a doubt to each word that `is` accepts in the variable `name`. Each word gets a doubt
    /// of its own.
    pub(super) fn doubt(&mut self, name: &[u8], condition: u64, is: impl Fn(&Word) -> bool) {
        let (line, mut lost) = (self.line, Vec::new());
        let condition = hash(&(condition, line)) | 1;
        self.state.change(name, |words| {
            for word in words.iter_mut().filter(|word| is(word)) {
                lost.extend(word.mark.filter(|mark| mark.is_new).map(|mark| mark.set));
                *word = word.apart(condition);
            }
        });
        for set in lost {
            self.losses.entry(set).or_default().possible.get_or_insert(line);
        }
    }

    /// Adds the values of the command to the links of its targets. False if the command links
    /// nothing.
    fn links(&mut self, name: &[u8], arguments: &[Words]) -> bool {
        match (name, arguments) {
            (b"link_libraries", _) => {
                self.state.add_link(LINK_LIBRARIES, Scope::Public, joined(arguments));
            }
            (b"add_library" | b"add_executable", [target, ..]) => {
                let Some(target) = target.name().map(<[u8]>::to_vec) else { return true };
                let words = self.state.link(LINK_LIBRARIES, Scope::Public).to_vec();
                self.state.add_link(&target, Scope::Public, words);
            }
            (b"set_property" | b"set_target_properties", [first, ..]) => {
                self.property(first.keyword() == b"TARGET", name, arguments);
            }
            (name, [target, values @ ..]) if name.ends_with(b"target_link_libraries") => {
                self.link(target, values);
            }
            (_, [target, rest @ ..]) => {
                let is_list =
                    |word: &Words| matches!(word.keyword(), b"LINK_LIBS" | b"LINK_COMPONENTS");
                if !rest.iter().any(is_list) {
                    return false;
                }
                let mut rest = rest;
                while let Some(at) = rest.iter().position(is_list) {
                    rest = &rest[at + 1..];
                    let end = rest.iter().position(is_option).unwrap_or(rest.len());
                    self.link(target, &rest[..end]);
                }
                self.components(name);
            }
            _ => return false,
        }
        true
    }

    /// Adds a link with the components in the variable [`COMPONENTS`] if `command` begins with
    /// `add_`. LLVM's commands link these components, which the file sets before the command.
    pub(super) fn components(&mut self, command: &[u8]) {
        if command.starts_with(b"add_")
            && let Some(words) = self.state.get(COMPONENTS).cloned()
        {
            self.state.add_link(COMPONENTS, Scope::Public, words.to_vec());
        }
    }

    fn link(&mut self, target: &Words, values: &[Words]) {
        let Some(target) = target.name().map(<[u8]>::to_vec) else {
            return self.state.add_link(b"", Scope::Public, joined(values));
        };
        let mut scope = Scope::Public;
        for value in values {
            scope = match value.keyword() {
                b"PRIVATE" | b"LINK_PRIVATE" => Scope::Private,
                b"INTERFACE" | b"LINK_INTERFACE_LIBRARIES" => Scope::Interface,
                word if is_scope(word) => Scope::Public,
                _ => {
                    self.state.add_link(&target, scope, value.words.clone());
                    scope
                }
            };
        }
    }

    /// Runs `set_property(GLOBAL [APPEND] PROPERTY NAME …)`.
    fn global_property(&mut self, arguments: &[Words]) {
        let at = arguments.iter().position(|word| word.keyword() == b"PROPERTY");
        let Some([_, name, values @ ..]) = at.map(|at| &arguments[at..]) else { return };
        let Some(name) = name.name().filter(|_| arguments[0].keyword() == b"GLOBAL") else {
            return;
        };
        let adds = arguments.iter().any(|word| word.keyword() == b"APPEND");
        let value = Arc::make_mut(&mut self.state.properties).entry(name.to_vec()).or_default();
        let value = Arc::make_mut(value);
        if !adds {
            value.clear();
        }
        value.extend(joined(values));
    }

    /// Reads the libraries of `set_property(TARGET …)` and `set_target_properties(…)`.
    fn property(&mut self, is_target: bool, command: &[u8], arguments: &[Words]) {
        let is_one = command == b"set_property";
        let is = |word: &Words| {
            matches!(word.keyword(), b"PROPERTY" | b"PROPERTIES" | b"APPEND" | b"APPEND_STRING")
        };
        if is_one && !is_target {
            return self.global_property(arguments);
        }
        let Some(end) = arguments.iter().position(is) else { return };
        let targets = &arguments[usize::from(is_one)..end];
        let adds = arguments[end..].iter().any(|word| word.keyword().starts_with(b"APPEND"));
        let mut rest = arguments[end..].iter().skip_while(|word| is(word));
        while let Some(name) = rest.next() {
            let most = if is_one { usize::MAX } else { 1 };
            let values: Vec<Words> = rest.by_ref().take(most).cloned().collect();
            let scope = match name.keyword() {
                b"LINK_LIBRARIES" => Scope::Private,
                b"INTERFACE_LINK_LIBRARIES" => Scope::Interface,
                _ => continue,
            };
            for target in targets.iter().filter_map(Words::name) {
                if !adds {
                    self.state.clear_link(target, scope);
                }
                self.state.add_link(target, scope, joined(&values));
            }
        }
    }
}

/// True for the path of a file. Modules are included by a bare name, and are assumed not to change
/// lists.
fn is_path(file: &Words) -> bool {
    let is = |word: &Word| word.text.contains(&b'/') || word.text.ends_with(b".cmake");
    file.words.iter().any(is)
}

/// True for a keyword that ends the list of libraries in a command of LLVM.
fn is_option(word: &Words) -> bool {
    let text = word.keyword();
    let is_upper = text.iter().all(|b| b.is_ascii_uppercase() || *b == b'_');
    text.len() > 3 && is_upper && !is_scope(text)
}

/// True if `pattern`, a name with unknown parts, may be `name`.
pub(in super::super) fn fits(pattern: &[u8], name: &[u8]) -> bool {
    if !is_open(pattern) {
        return pattern == name;
    }
    // References of other kinds may have any value.
    let Some(begin) = memchr::memmem::find(pattern, b"${") else { return true };
    let end = memchr::memrchr(b'}', pattern).unwrap_or(begin);
    let (start, rest) = (&pattern[..begin], &pattern[end + 1..]);
    name.len() >= start.len() + rest.len() && name.starts_with(start) && name.ends_with(rest)
}

/// True for commands of CMake that do not change lists.
fn is_harmless(name: &[u8]) -> bool {
    let starts: [&[u8]; 7] =
        [b"add_custom_", b"target_", b"include", b"install", b"set_", b"enable_", b"cmake_policy"];
    let all: [&[u8]; 11] = [
        b"message",
        b"find_package",
        b"cmake_minimum_required",
        b"export",
        b"add_definitions",
        b"add_compile_options",
        b"add_compile_definitions",
        b"add_dependencies",
        b"add_subdirectory",
        b"add_test",
        b"link_directories",
    ];
    starts.iter().any(|start| name.starts_with(start)) || all.contains(&name)
}
