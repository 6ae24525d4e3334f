//! Runs calls of functions and macros, and unknown commands.

use super::arguments::{Words, joined};
use super::program::Step;
use super::run::{Flow, Run};
use super::state::{Scope, Variables};
use super::value::{Word, counted, hash};
use std::sync::Arc;

impl Run<'_> {
    /// Runs the definition of the function or macro that begins at `at`.
    pub(super) fn define(&mut self, at: usize) {
        let program = self.program;
        let Some(name) = program.names.get(&at) else { return };
        // The last definition counts. In a block, the definition may not run.
        let is_certain = self.depth == 1 && self.calls.is_empty();
        let known = self.defined.entry(name).or_insert(Some(at));
        *known = if is_certain { Some(at) } else { known.filter(|known| *known == at) };
    }

    /// Calls the function or macro that begins at `at`.
    pub(super) fn function(&mut self, at: usize, arguments: &[Words]) -> Flow {
        self.called.insert(at);
        let program = self.program;
        let Some(step) = program.steps.get(at) else { return Flow::Next };
        let parameters = self.parameters(step, arguments);
        self.run_function(at, step, parameters)
    }

    fn run_function(&mut self, at: usize, step: &Step, parameters: Variables) -> Flow {
        if step.name == b"macro" {
            self.calls.push(Some(parameters));
            let flow = self.block(at + 1, step.next);
            self.calls.pop();
            return flow;
        }
        self.calls.push(None);
        let (level, from) = (self.state.scopes.len(), self.early.len());
        let mut own = self.state.scopes.last().cloned().unwrap_or_default();
        Arc::make_mut(&mut own).extend(parameters);
        self.state.scopes.push(own);
        let flow = self.block(at + 1, step.next);
        self.rejoin(from, &[Flow::Return, Flow::Break, Flow::Continue]);
        self.state.scopes.truncate(level);
        self.calls.pop();
        if flow == Flow::Stop { flow } else { Flow::Next }
    }

    /// The values of the parameters of a function or macro.
    fn parameters(&self, step: &Step, arguments: &[Words]) -> Variables {
        let names = step.call.arguments.iter().skip(1).map(|name| self.bytes(name).to_vec());
        let names: Vec<Vec<u8>> = names.collect();
        let mut out = Variables::default();
        for (name, value) in names.iter().zip(arguments) {
            out.insert(name.clone(), Arc::new(value.words.clone()));
        }
        let rest = arguments.get(names.len()..).unwrap_or_default();
        out.insert(b"ARGN".to_vec(), Arc::new(joined(rest)));
        let all = joined(arguments);
        let count = counted(&all).unwrap_or_else(|| Word::new(b"${ARGC}"));
        out.insert(b"ARGV".to_vec(), Arc::new(all));
        out.insert(b"ARGC".to_vec(), Arc::new(vec![count]));
        for (at, value) in arguments.iter().enumerate() {
            out.insert(format!("ARGV{at}").into_bytes(), Arc::new(value.words.clone()));
        }
        out
    }

    /// Runs a function that another file may call: its parameters are unknown. The changes to
    /// variables are dropped, because it is unknown when the function runs.
    pub(super) fn uncalled(&mut self, at: usize) {
        let program = self.program;
        let Some(step) = program.steps.get(at) else { return };
        let scopes = self.state.scopes.clone();
        let losses = self.losses.clone();
        let from = self.early.len();
        self.run_function(at, step, Variables::default());
        self.early.truncate(from);
        self.state.scopes = scopes;
        // A removal in an uncalled function does not change the losses that a set already has.
        for (set, loss) in losses {
            self.losses.insert(set, loss);
        }
    }

    /// Runs an unknown command. The command may link its values, and may add them to the variables
    /// that its arguments name. It may also change these variables in other ways.
    pub(super) fn unknown(&mut self, name: &[u8], arguments: &[Words]) -> Flow {
        self.components(name);
        let words = joined(arguments);
        let marked: Vec<Word> = words.iter().filter(|word| word.mark.is_some()).cloned().collect();
        for argument in arguments {
            let name = argument.keyword().to_vec();
            if name.is_empty() {
                continue;
            }
            if self.state.get(&name).is_some() {
                self.doubt(&name, hash(&name), |_| true);
            }
            if !marked.is_empty() {
                let more = marked.iter().map(|word| word.apart(7));
                let value = self.state.get(&name).map(|value| value.to_vec());
                let all: Vec<Word> = value.unwrap_or_default().into_iter().chain(more).collect();
                self.state.set(&name, all);
            }
        }
        self.state.add_link(b"", Scope::Public, marked);
        Flow::Next
    }

    /// Runs `cmake_parse_arguments()`.
    pub(super) fn parse_arguments(&mut self, arguments: &[Words]) {
        let is_argv = arguments.first().is_some_and(|word| word.keyword() == b"PARSE_ARGV");
        let start = if is_argv { 2 } else { 0 };
        let [prefix, flags, ones, many, rest @ ..] = &arguments[start.min(arguments.len())..]
        else {
            return;
        };
        let Some(prefix) = prefix.text().map(<[u8]>::to_vec) else { return };
        let mut values: Vec<Word> = joined(rest);
        if is_argv {
            let skipped = arguments[1].text().and_then(|text| std::str::from_utf8(text).ok());
            let skipped: usize = skipped.and_then(|text| text.parse().ok()).unwrap_or(0);
            let all = self.value(b"ARGV").map(|all| all.to_vec()).unwrap_or_default();
            values = all.into_iter().skip(skipped).collect();
        }
        let texts = |words: &Words| -> Vec<Arc<[u8]>> {
            words.words.iter().map(|word| Arc::clone(&word.text)).collect()
        };
        let (flags, ones, many) = (texts(flags), texts(ones), texts(many));
        let mut out = Variables::default();
        let variable = |key: &[u8]| [&*prefix, b"_", key].concat();
        let (mut key, mut is_one): (Vec<u8>, bool) = (variable(b"UNPARSED_ARGUMENTS"), false);
        for word in values {
            if flags.contains(&word.text) {
                out.insert(variable(&word.text), Arc::new(vec![Word::new(b"TRUE")]));
                (key, is_one) = (variable(b"UNPARSED_ARGUMENTS"), false);
            } else if ones.contains(&word.text) || many.contains(&word.text) {
                (key, is_one) = (variable(&word.text), ones.contains(&word.text));
                out.insert(key.clone(), Arc::default());
            } else {
                Arc::make_mut(out.entry(key.clone()).or_default()).push(word);
                if is_one {
                    (key, is_one) = (variable(b"UNPARSED_ARGUMENTS"), false);
                }
            }
        }
        for flag in &flags {
            let is_off = || Arc::new(vec![Word::new(b"FALSE")]);
            out.entry(variable(flag)).or_insert_with(is_off);
        }
        // Variables of keywords without arguments are unset.
        let keys = ones.iter().chain(&many).map(|key| variable(key));
        for name in keys.chain([variable(b"UNPARSED_ARGUMENTS")]) {
            if !out.contains_key(&name) {
                self.state.unset(&name);
            }
        }
        for (name, words) in out {
            self.state.set(&name, words.to_vec());
        }
    }
}
