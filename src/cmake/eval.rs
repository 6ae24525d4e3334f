//! Evaluates files and blocks. Under an unknown condition, each branch is evaluated on a copy of
//! the state. The states are then merged. Code in these branches records no events.

use super::parsed::Parsed;
use super::state::{CommandSite, EvalState, Function, Text};
use super::value::{ArgumentWord, MaybeText, Truth, items, known};
use super::{CMakeHost, Event, EventKind, GaveUp};
use crate::id::FastSet;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum nesting depth of blocks, calls, files and packages.
const DEEPEST: usize = 160;
/// Maximum number of events kept for one package.
const MOST_EVENTS: usize = 2_000;

/// The way in which a piece of code ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flow {
    Next,
    Break,
    Continue,
    Return,
    /// The evaluation ends: a fatal error occurred, or the evaluation gave up.
    Stop,
}

/// The file or call whose commands are evaluated.
#[derive(Clone)]
pub(super) struct Frame {
    pub(super) path: Arc<Path>,
    pub(super) line: u32,
    /// The parameters of a macro, which are replaced as text.
    pub(super) replaced: Vec<(Text, MaybeText)>,
}

/// States of branches that end early (`break`, `continue`, `return`) under an unknown condition.
/// Each state is merged at the end of the loop, file or call that the branch left.
#[derive(Default)]
pub(super) struct Left {
    round: Option<EvalState>,
    whole_loop: Option<EvalState>,
    file: Option<EvalState>,
}

impl Left {
    fn add(&mut self, flow: Flow, state: EvalState) {
        let slot = match flow {
            Flow::Continue => &mut self.round,
            Flow::Break => &mut self.whole_loop,
            Flow::Return => &mut self.file,
            Flow::Next | Flow::Stop => return,
        };
        match slot {
            Some(known) => known.merge(state),
            None => *slot = Some(state),
        }
    }
}

/// The evaluation of one package.
pub(super) struct Eval<'h> {
    pub(super) host: &'h mut dyn CMakeHost,
    pub(super) state: EvalState,
    pub(super) frame: Frame,
    pub(super) events: Vec<Event>,
    /// The kinds of `events`, to record each kind only once.
    pub(super) recorded: FastSet<EventKind>,
    pub(super) components: Vec<Vec<u8>>,
    /// Paths that a condition with EXISTS did not find.
    pub(super) last_absent: Vec<PathBuf>,
    /// The text of a fatal error that certainly occurs; `None` if there is none.
    pub(super) fatal: Option<Vec<u8>>,
    pub(super) gave_up: Option<GaveUp>,
    /// Required packages for which a find module searches. They are assumed to be found.
    pub(super) assumed: Vec<Vec<u8>>,
    /// Directories that were certainly added to CMAKE_MODULE_PATH. They are searched if the whole
    /// value of CMAKE_MODULE_PATH is unknown.
    pub(super) module_dirs: Vec<PathBuf>,
    /// True once `include` or `find_package` used a module that is not evaluated. The module may
    /// define commands.
    pub(super) has_modules: bool,
    /// True if the package may fail for some consumers. This is so if a file or package is missing
    /// under an unknown condition, or if the consumer may lack a module.
    pub(super) may_fail: bool,
    /// True if a branch under an unknown condition failed.
    pub(super) has_failed_branch: bool,
    /// True once `execute_process` was called. Its results are unknown.
    pub(super) has_processes: bool,
    /// Targets of other packages, each with a property that this package may set.
    pub(super) touched: BTreeSet<(Text, Text)>,
    /// True if code that was not evaluated may define targets of any name, or if the consumer's
    /// components decide which targets exist.
    pub(super) is_open: bool,
    /// False if another package requests this package. The requesting package may have defined
    /// commands that this package calls.
    pub(super) alone: bool,
    /// Commands that this package calls and does not define: the requesting package must have
    /// defined them. The flag is true if the command certainly runs.
    pub(super) strange: Vec<(String, bool)>,
    /// The states of branches that may have left the current loop, file or call.
    pub(super) left: Left,
    /// Number of unknown conditions around the current code.
    pub(super) doubts: usize,
    pub(super) package: Vec<u8>,
    pub(super) steps: usize,
    pub(super) bytes: usize,
    /// Bytes that may still be copied.
    pub(super) work: usize,
    pub(super) depth: usize,
}

impl Eval<'_> {
    /// True if the code that is evaluated certainly runs.
    pub(super) fn certain(&self) -> bool {
        self.doubts == 0
    }

    pub(super) fn site(&self) -> CommandSite {
        CommandSite { file: Arc::clone(&self.frame.path), line: self.frame.line }
    }

    pub(super) fn event(&mut self, kind: EventKind) {
        let event = Event { site: self.site(), kind };
        if !self.certain() {
            self.may_fail = true;
        } else if self.events.len() < MOST_EVENTS {
            self.record(event);
        }
    }

    /// Records an event unless an equal one was recorded. If several targets link to the same
    /// undefined target, only the first is recorded.
    pub(super) fn record(&mut self, event: Event) {
        let mut key = event.kind.clone();
        if let EventKind::Target { from, .. } = &mut key {
            from.clear();
        }
        if self.recorded.insert(key) {
            self.events.push(event);
        }
    }

    /// Handles an undefined command. A module or the requesting package may have defined the
    /// command; otherwise the call is a fatal error. `is_certain` is false if the call is in a
    /// requested package and this package may not reach the call.
    pub(super) fn strange_command(&mut self, name: &str, is_certain: bool) -> Flow {
        if self.has_modules || self.state.functions.contains_key(name) {
            return Flow::Next;
        }
        let runs = is_certain && self.certain();
        if !self.alone {
            self.strange.push((name.to_owned(), runs));
            return Flow::Next;
        }
        if runs {
            self.fatal = Some(format!("Unknown CMake command \"{name}\".").into_bytes());
        } else {
            self.may_fail = true;
        }
        if is_certain { Flow::Stop } else { Flow::Next }
    }

    pub(super) fn give_up(&mut self, reason: &'static str) -> Flow {
        self.gave_up.get_or_insert(GaveUp::Undecided(reason));
        Flow::Stop
    }

    /// Gives up at a file that cannot be read or parsed. The host reports the file.
    fn unread(&mut self, reason: &'static str) -> Flow {
        self.gave_up.get_or_insert(GaveUp::Unread(reason));
        Flow::Stop
    }

    /// The value of `${name}`: a parameter of the current macro, or a variable.
    pub(super) fn referred_value(&self, name: &[u8]) -> MaybeText {
        let replaced = self.frame.replaced.iter().find(|(known, _)| **known == *name);
        replaced.map_or_else(|| self.value_of(name), |(_, value)| value.clone())
    }

    /// The value of a variable. The parameters of a macro are not variables.
    pub(super) fn value_of(&self, name: &[u8]) -> MaybeText {
        match name {
            b"CMAKE_CURRENT_LIST_FILE" => known(bytes(&self.frame.path)),
            b"CMAKE_CURRENT_LIST_DIR" => {
                known(bytes(self.frame.path.parent().unwrap_or(&self.frame.path)))
            }
            b"CMAKE_CURRENT_LIST_LINE" => known(self.frame.line.to_string().as_bytes()),
            _ => self.outer_value(name).unwrap_or_else(|| self.state.get(name)),
        }
    }

    /// Clears CMAKE_MATCH_0 and so on, as CMake does before each match, and sets them to
    /// `groups`.
    pub(super) fn set_matches(&mut self, text: &[u8], groups: &[Option<Range<usize>>]) {
        for name in self.names_with(b"CMAKE_MATCH_") {
            self.state.set(&name, known(&b""[..]));
        }
        for (number, group) in groups.iter().enumerate() {
            let value = group.as_ref().map_or(&b""[..], |range| &text[range.clone()]);
            self.state.set(format!("CMAKE_MATCH_{number}").as_bytes(), known(value));
        }
    }

    pub(super) fn defined(&self, name: &[u8]) -> Truth {
        match name {
            b"CMAKE_CURRENT_LIST_FILE" | b"CMAKE_CURRENT_LIST_DIR" => Truth::True,
            _ if name.starts_with(b"ENV{") || name.starts_with(b"CACHE{") => Truth::Unknown,
            _ => match self.outer_value(name) {
                Some(value) => value.map_or(Truth::Unknown, |_| Truth::True),
                None => self.state.is_defined(name),
            },
        }
    }

    /// Evaluates a file in this scope. The evaluation gives up if the file cannot be read or
    /// parsed.
    pub(super) fn include(&mut self, path: &Path) -> Flow {
        let Some(file) = self.host.file(path) else { return self.unread("a file cannot be read") };
        if file.defect.is_some() {
            return self.unread("a file has an error of syntax");
        }
        let frame = Frame { path: path.into(), line: 0, replaced: Vec::new() };
        let outer = std::mem::replace(&mut self.frame, frame);
        let left = std::mem::take(&mut self.left);
        let doubts = self.doubts;
        let flow = self.block(&file, 0, file.commands.len());
        self.rejoin(left);
        self.frame = outer;
        self.doubts = doubts;
        if flow == Flow::Stop { flow } else { Flow::Next }
    }

    /// Ends a file or call: merges the states of the branches that left it early. `outer` has the
    /// states of the branches that left the enclosing code.
    fn rejoin(&mut self, outer: Left) {
        let left = std::mem::replace(&mut self.left, outer);
        for state in [left.round, left.whole_loop, left.file].into_iter().flatten() {
            self.state.merge(state);
        }
    }

    /// Evaluates the commands from `begin` up to `end`.
    pub(super) fn block(&mut self, file: &Arc<Parsed>, begin: usize, end: usize) -> Flow {
        if self.depth == DEEPEST {
            return self.give_up("its blocks, calls and files are nested too deeply");
        }
        self.depth += 1;
        let mut at = begin;
        let mut flow = Flow::Next;
        while at < end && flow == Flow::Next {
            if self.is_spent() {
                flow = self.give_up("it takes too long to evaluate");
                break;
            }
            self.steps -= 1;
            let command = &file.commands[at];
            self.frame.line = command.line;
            (flow, at) = match command.name.as_str() {
                "if" => self.branches(file, at),
                "foreach" => (self.foreach(file, at), command.end + 1),
                "while" => (self.repeat(file, at), command.end + 1),
                "block" => (self.scoped(file, at), command.end + 1),
                "function" | "macro" => {
                    self.define(file, at);
                    (Flow::Next, command.end + 1)
                }
                _ => (self.command(file, at), at + 1),
            };
        }
        self.depth -= 1;
        flow
    }

    /// Evaluates an `if` with its branches; also returns the index after `endif`.
    fn branches(&mut self, file: &Arc<Parsed>, begin: usize) -> (Flow, usize) {
        let mut at = begin;
        let mut others: Vec<(EvalState, Flow)> = Vec::new();
        let doubts = self.doubts;
        let mut flow = Flow::Next;
        loop {
            let command = &file.commands[at];
            let (body, end) = (at + 1, command.end);
            if command.name == "endif" {
                break;
            }
            self.frame.line = command.line;
            let truth = if command.name == "else" {
                Truth::True
            } else {
                let words = self.words(file, &command.arguments);
                self.condition(&words)
            };
            match truth {
                Truth::True => {
                    flow = self.block(file, body, end);
                    at = end;
                    while file.commands[at].name != "endif" {
                        at = file.commands[at].end;
                    }
                    break;
                }
                Truth::False => {}
                Truth::Unknown => {
                    let before = self.copied();
                    self.doubts += 1;
                    let flow = self.block(file, body, end);
                    others.push((std::mem::replace(&mut self.state, before), flow));
                }
            }
            at = end;
        }
        self.doubts = doubts;
        if !others.is_empty() {
            flow = self.join(flow, others);
        }
        (flow, at + 1)
    }

    /// Merges the states of all branches of an `if`.
    fn join(&mut self, flow: Flow, others: Vec<(EvalState, Flow)>) -> Flow {
        if self.gave_up.is_some() {
            return Flow::Stop;
        }
        let mut ways: Vec<(EvalState, Flow)> = vec![(std::mem::take(&mut self.state), flow)];
        ways.extend(others);
        // Evaluation continues with the branches that skip the least code.
        let nearest = [Flow::Next, Flow::Continue, Flow::Break, Flow::Return];
        let way = nearest.into_iter().find(|way| ways.iter().any(|(_, flow)| flow == way));
        self.has_failed_branch |= ways.iter().any(|(_, flow)| *flow == Flow::Stop);
        self.go_on(way.unwrap_or(Flow::Stop), ways)
    }

    /// Continues with the merged states of the branches that end with `way`. The other states are
    /// kept until the end of the loop, file or call that their branches leave.
    fn go_on(&mut self, way: Flow, all: Vec<(EvalState, Flow)>) -> Flow {
        let (same, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, flow)| *flow == way);
        let mut same = same.into_iter().map(|(state, _)| state);
        self.state = same.next().unwrap_or_default();
        same.for_each(|state| self.state.merge(state));
        let others: Vec<_> = others.into_iter().filter(|(_, flow)| *flow != Flow::Stop).collect();
        // The code that follows runs for some consumers only.
        self.doubts += usize::from(!others.is_empty());
        for (state, flow) in others {
            self.left.add(flow, state);
        }
        way
    }

    fn foreach(&mut self, file: &Arc<Parsed>, begin: usize) -> Flow {
        let command = &file.commands[begin];
        let words = self.words(file, &command.arguments);
        let Some((name, rest)) = words.split_first() else { return Flow::Next };
        let Some(name) = name.text().map(<[u8]>::to_vec) else {
            return self.give_up("a loop has no name");
        };
        let Some(list) = self.looped(rest) else { return self.once(file, begin, &name) };
        let before = self.state.scope().get(name.as_slice()).cloned();
        let outer = self.left.whole_loop.take();
        let mut flow = Flow::Next;
        for item in list {
            self.state.set(&name, known(item));
            flow = self.round(file, begin);
            match flow {
                Flow::Next | Flow::Continue => flow = Flow::Next,
                Flow::Break => {
                    flow = Flow::Next;
                    break;
                }
                Flow::Return | Flow::Stop => break,
            }
        }
        self.end_loop(outer);
        match before {
            Some(value) => self.state.set(&name, value),
            None => self.state.unset(&name),
        }
        flow
    }

    /// The items of a `foreach`; `None` if they are unknown or a range is too long.
    fn looped(&self, rest: &[ArgumentWord]) -> Option<Vec<Vec<u8>>> {
        let all: Option<Vec<&[u8]>> = rest.iter().map(ArgumentWord::text).collect();
        let all = all?;
        let number = |text: &[u8]| -> Option<i64> { std::str::from_utf8(text).ok()?.parse().ok() };
        match all.as_slice() {
            [b"RANGE", limits @ ..] => {
                let limits: Option<Vec<i64>> = limits.iter().map(|text| number(text)).collect();
                let (first, last, step) = match limits?.as_slice() {
                    [last] => (0, *last, if *last < 0 { -1 } else { 1 }),
                    [first, last] => (*first, *last, if first > last { -1 } else { 1 }),
                    [first, last, step] => (*first, *last, *step),
                    _ => return None,
                };
                let count = last.checked_sub(first)?.checked_div(step)?;
                let count = (0..=10_000).contains(&count).then_some(count)?;
                Some((0..=count).map(|n| (first + n * step).to_string().into_bytes()).collect())
            }
            [b"IN", rest @ ..] => {
                let (mut out, mut is_list) = (Vec::new(), false);
                for word in rest {
                    match *word {
                        b"LISTS" => is_list = true,
                        b"ITEMS" => is_list = false,
                        b"ZIP_LISTS" => return None,
                        name if is_list => out.extend(items(&self.value_of(name)?, true)),
                        item => out.push(item.to_vec()),
                    }
                }
                Some(out)
            }
            items => Some(items.iter().map(|item| item.to_vec()).collect()),
        }
    }

    /// Evaluates the body of a loop that runs an unknown number of times. For a `foreach` with
    /// unknown items, `name` is the loop variable. For a `while` with an unknown condition, `name`
    /// is empty.
    fn once(&mut self, file: &Arc<Parsed>, begin: usize, name: &[u8]) -> Flow {
        let before = self.copied();
        self.state.set(name, None);
        let doubts = self.doubts;
        self.doubts += 1;
        let outer = self.left.whole_loop.take();
        let flow = self.round(file, begin);
        self.end_loop(outer);
        if flow == Flow::Return {
            let state = self.copied();
            self.left.add(flow, state);
        }
        // The code after the loop runs for some consumers only.
        let may_leave = flow == Flow::Return || self.left.file.is_some();
        self.doubts = doubts + usize::from(may_leave);
        let after = std::mem::replace(&mut self.state, before);
        if self.gave_up.is_some() {
            return Flow::Stop;
        }
        if flow == Flow::Stop {
            self.has_failed_branch = true;
        } else {
            self.state.merge(after);
        }
        Flow::Next
    }

    /// Evaluates the body of a loop once.
    fn round(&mut self, file: &Arc<Parsed>, begin: usize) -> Flow {
        let outer = self.left.round.take();
        let flow = self.block(file, begin + 1, file.commands[begin].end);
        if let Some(state) = std::mem::replace(&mut self.left.round, outer) {
            self.state.merge(state);
        }
        flow
    }

    /// Ends a loop: merges the states of the branches that left it. `outer` has the states of the
    /// branches that left the enclosing loop.
    fn end_loop(&mut self, outer: Option<EvalState>) {
        if let Some(state) = std::mem::replace(&mut self.left.whole_loop, outer) {
            self.state.merge(state);
        }
    }

    fn repeat(&mut self, file: &Arc<Parsed>, begin: usize) -> Flow {
        let outer = self.left.whole_loop.take();
        let flow = self.rounds(file, begin);
        self.end_loop(outer);
        flow
    }

    fn rounds(&mut self, file: &Arc<Parsed>, begin: usize) -> Flow {
        let command = &file.commands[begin];
        loop {
            let words = self.words(file, &command.arguments);
            match self.condition(&words) {
                Truth::False => return Flow::Next,
                Truth::Unknown => return self.once(file, begin, b""),
                Truth::True => {}
            }
            match self.round(file, begin) {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Flow::Next,
                flow @ (Flow::Return | Flow::Stop) => return flow,
            }
            if self.is_spent() {
                return self.give_up("it takes too long to evaluate");
            }
            self.steps -= 1;
        }
    }

    /// Evaluates `block()`. Variables that are set in the block are local, except the variables
    /// listed after PROPAGATE.
    fn scoped(&mut self, file: &Arc<Parsed>, begin: usize) -> Flow {
        let command = &file.commands[begin];
        let words = self.words(file, &command.arguments);
        let at = words.iter().position(|word| word.is("PROPAGATE")).unwrap_or(words.len());
        let is_for_policies = words[..at].iter().any(|word| word.is("POLICIES"))
            && !words[..at].iter().any(|word| word.is("VARIABLES"));
        if is_for_policies {
            return self.block(file, begin + 1, command.end);
        }
        self.open_scope();
        let flow = self.block(file, begin + 1, command.end);
        for name in words[at..].iter().skip(1).filter_map(ArgumentWord::text) {
            let value = self.state.scope().get(name).cloned();
            self.state.set_outside(name, value);
        }
        self.state.scopes.pop();
        flow
    }

    fn define(&mut self, file: &Arc<Parsed>, begin: usize) {
        let command = &file.commands[begin];
        let words = self.words(file, &command.arguments);
        let name = words.first().and_then(ArgumentWord::text).map(String::from_utf8_lossy);
        let Some(name) = name.map(|name| name.to_ascii_lowercase()) else { return };
        let is_macro = command.name == "macro";
        let path = Arc::clone(&self.frame.path);
        self.state
            .functions
            .insert(name, Function { file: Arc::clone(file), path, begin, is_macro });
    }

    /// Calls a function or macro.
    pub(super) fn call(&mut self, function: &Function, words: &[ArgumentWord]) -> Flow {
        let Function { file, path, begin, is_macro } = function;
        let command = &file.commands[*begin];
        let parameters = self.words(file, &command.arguments);
        let mut set: Vec<(Text, MaybeText)> = Vec::new();
        let is_open = words.iter().any(|word| word.value.is_none() && !word.quoted);
        let text = |word: &ArgumentWord| if is_open { None } else { word.value.clone() };
        let list = |words: &[ArgumentWord]| -> MaybeText {
            let all: Option<Vec<Vec<u8>>> =
                words.iter().map(|word| text(word).map(|text| text.to_vec())).collect();
            all.map(|all| super::value::joined(&all).into())
        };
        let named = parameters.len().saturating_sub(1);
        for (number, parameter) in parameters.iter().skip(1).enumerate() {
            let Some(name) = parameter.text() else { continue };
            let value = words.get(number).map_or_else(|| known(&b""[..]), text);
            set.push((name.into(), value));
        }
        for (number, word) in words.iter().enumerate().take(32) {
            set.push((format!("ARGV{number}").into_bytes().into(), text(word)));
        }
        let count = words.len().to_string();
        let count = if is_open { None } else { known(count.as_bytes()) };
        set.push((Text::from(&b"ARGC"[..]), count));
        set.push((Text::from(&b"ARGV"[..]), list(words)));
        set.push((Text::from(&b"ARGN"[..]), list(words.get(named..).unwrap_or_default())));
        let doubts = self.doubts;
        let line = self.frame.line;
        let flow = if *is_macro {
            // A macro runs in the file that calls it, not in the file that defines it.
            let outer = std::mem::replace(&mut self.frame.replaced, set);
            let flow = self.block(file, begin + 1, command.end);
            self.frame.replaced = outer;
            flow
        } else {
            let frame = Frame { path: Arc::clone(&self.frame.path), line, replaced: Vec::new() };
            let outer = std::mem::replace(&mut self.frame, frame);
            let hidden = self.state.hidden.clone();
            self.open_scope();
            let scope = self.state.scope();
            scope.extend(set);
            scope.insert(b"CMAKE_CURRENT_FUNCTION_LIST_FILE"[..].into(), known(bytes(path)));
            let dir = path.parent().unwrap_or(path);
            scope.insert(b"CMAKE_CURRENT_FUNCTION_LIST_DIR"[..].into(), known(bytes(dir)));
            let left = std::mem::take(&mut self.left);
            let flow = self.block(file, begin + 1, command.end);
            self.rejoin(left);
            self.state.scopes.pop();
            self.state.hidden = hidden;
            self.frame = outer;
            flow
        };
        self.frame.line = line;
        self.doubts = doubts;
        match flow {
            Flow::Stop => Flow::Stop,
            // `return` in a macro leaves the file that calls it.
            Flow::Return if *is_macro => Flow::Return,
            _ => Flow::Next,
        }
    }
}

pub(super) fn bytes(path: &Path) -> &[u8] {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str())
}
