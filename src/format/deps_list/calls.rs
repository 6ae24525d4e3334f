//! Reads lists in the calls of functions and macros: those of the file, if they link some of their
//! arguments or give them to variables, also by calls of each other, and the commands of LLVM.
//! `trace` decides if the links get the arguments.

use super::helpers::{Helper, Helpers, InnerCall, Link, Values};
use super::life::is_addition;
use super::scan::{Scan, Scanned, is_scope};
use super::values::{Variables, referred};
use super::{Set, SetCommand};
use crate::format::cmake::Argument;
use crate::order::Arrange as _;
use std::collections::BTreeSet;

/// Maximum number of links in one function that are read.
const MOST_LINKS: usize = 20;
/// Maximum number of functions with the same name that are compared.
const MOST_ALIKE: usize = 8;
/// Maximum number of calls in one function that are read.
const MOST_INNER: usize = 200;

impl Scan<'_> {
    /// Reads a command, which may begin, end or belong to the body of a function.
    pub(super) fn note_helper(
        &self,
        helpers: &mut Helpers,
        out: &mut Scanned,
        variables: &mut Variables,
    ) {
        match (&*self.name(), self.arguments()) {
            (b"function" | b"macro", [name, parameters @ ..]) => {
                let inside = |word: &Argument| self.bytes(&word.inside).to_vec();
                let parameters = parameters.iter().map(inside).collect();
                let is_macro = self.name() == b"macro";
                helpers.open.push(Helper::new(inside(name), parameters, is_macro));
            }
            (b"endfunction" | b"endmacro", _) => {
                let Some(mut helper) = helpers.open.pop() else { return };
                let name = helper.name.to_ascii_lowercase();
                out.arguments.extend(helper.variables.keys().cloned());
                let alike = helpers.known.entry(name.clone()).or_default();
                if alike.len() <= MOST_ALIKE {
                    for (called, call) in std::mem::take(&mut helper.inner) {
                        let calls = helpers.inner.entry(called).or_default();
                        calls.push(InnerCall { caller: name.clone(), at: alike.len(), call });
                    }
                    alike.push(helper);
                }
                self.complete(helpers, name);
            }
            (name, _) => {
                if let Some(open) = helpers.open.last_mut() {
                    open.note(self, variables);
                    for called in helpers.known.get(name).into_iter().flatten() {
                        open.call(self, called);
                    }
                    if open.inner.len() < MOST_INNER && open.has_arguments(self) {
                        open.inner.push((name.to_vec(), self.command().clone()));
                    }
                }
            }
        }
    }

    /// Reads the calls of the function `name` in the bodies of earlier functions, then the calls of
    /// these functions.
    fn complete(&self, helpers: &mut Helpers, name: Vec<u8>) {
        let mut todo = vec![name];
        while let Some(name) = todo.pop() {
            let Some(known) = helpers.known.remove(&name) else { continue };
            for InnerCall { caller, at, call } in helpers.inner.get(&name).into_iter().flatten() {
                let alike = helpers.known.get_mut(caller);
                let Some(helper) = alike.and_then(|alike| alike.get_mut(*at)) else { continue };
                let (scan, before) = (self.other(call), helper.uses().count());
                for called in &known {
                    helper.call(&scan, called);
                }
                if helper.uses().count() > before {
                    todo.push(caller.clone());
                }
                let is_passed = known.iter().all(|called| helper.passes(&scan, called));
                *helpers.calls.entry(name.clone()).or_insert(true) &= is_passed;
            }
            helpers.known.insert(name, known);
        }
    }

    /// Notes a call of a helper, and whether `sets` has all arguments that the helper links.
    pub(super) fn note_call(&self, helpers: &mut Helpers, sets: &[Set]) {
        let name = self.name();
        helpers.is_open |= name == b"cmake_language";
        let Some(known) = helpers.known.get(&name) else {
            // A body runs later, when the function may be defined.
            if helpers.open.is_empty() {
                helpers.undefined.insert(name);
            }
            return;
        };
        let mut links = known.iter().flat_map(|helper| {
            let lists = helper.uses().filter(|link| link.values.is_list());
            lists.flat_map(|link| helper.arguments(self, &link.values))
        });
        let is_read = links.all(|(start, values, end)| {
            let is_inside = |set: &Set| (start..=end).contains(&set.body.start);
            values.is_empty() || sets.iter().any(is_inside)
        });
        *helpers.calls.entry(name).or_insert(true) &= is_read;
    }

    /// The sets in a call of a helper, or after the keywords of LLVM's commands.
    pub(super) fn called(&self, helpers: &Helpers) -> Vec<Set> {
        let all = helpers.known.get(&self.name()).map_or(&[][..], Vec::as_slice);
        let mut others: Vec<Vec<Set>> = all.iter().map(|helper| helper.sets(self)).collect();
        others.arrange_by_key(Vec::len);
        let mut found = others.pop().unwrap_or_default();
        let is_found = |set: &Set| {
            found.iter().any(|other| (&other.name, &other.body) == (&set.name, &set.body))
        };
        // It is unknown which function of this name CMake calls.
        if all.len() > MOST_ALIKE || !others.iter().flatten().all(is_found) {
            found.clear();
        }
        if found.is_empty() { keywords(self) } else { found }
    }
}

impl Helper {
    fn new(name: Vec<u8>, parameters: Vec<Vec<u8>>, is_macro: bool) -> Self {
        let rest = (b"ARGN".to_vec(), Values::From(parameters.len()));
        let variables = [rest, (b"ARGV".to_vec(), Values::From(0))].into_iter().collect();
        let (prefix, keywords, links) = (Vec::new(), BTreeSet::new(), Vec::new());
        let (gives, inner, flags) = (Vec::new(), Vec::new(), BTreeSet::new());
        Self { name, parameters, prefix, keywords, flags, variables, links, gives, is_macro, inner }
    }

    /// Reads a command of the body.
    fn note(&mut self, scan: &Scan<'_>, variables: &mut Variables) {
        let arguments = scan.arguments();
        match (&*scan.name(), arguments) {
            (b"cmake_parse_arguments", [first, _, rest @ ..])
                if scan.word(first) == b"PARSE_ARGV" =>
            {
                self.parse(scan, rest, variables);
            }
            (b"cmake_parse_arguments", _) => self.parse(scan, arguments, variables),
            (b"foreach" | b"find_library", [name, values @ ..]) => self.copy(scan, name, values),
            (b"set", [name, values @ ..]) => {
                self.copy(scan, name, values);
                self.give(scan, name, values);
            }
            (b"list", [action, name, values @ ..]) => {
                self.select(scan, scan.word(action), (name, values));
                self.copy(scan, name, values);
                if is_addition(scan.word(action)) {
                    self.give(scan, name, values);
                }
            }
            (name, [target, values @ ..]) if name.ends_with(b"target_link_libraries") => {
                self.link(scan, target, values);
            }
            (b"set_property", _) => {
                if let Some((name, values)) = scan.global_property() {
                    if let Some(values) = self.any_values(scan, values.iter()) {
                        self.add_give(scan.bytes(&name.inside), values);
                    }
                } else if let Some(found) = scan.linked_property() {
                    let target = scan.bytes(&found.target.inside).to_vec();
                    let scope = (!found.is_interface, found.is_interface);
                    self.link_values(scan, &target, found.values, scope);
                }
            }
            _ => {}
        }
    }

    /// Reads `list(ACTION NAME …)` with an action that selects arguments by their positions.
    fn select(&mut self, scan: &Scan<'_>, action: &[u8], (name, rest): (&Argument, &[Argument])) {
        let list = scan.bytes(&name.inside).to_vec();
        let first = match self.variables.get(&list) {
            Some(Values::From(first)) => *first,
            _ => return,
        };
        let number = |word: &Argument| std::str::from_utf8(scan.word(word)).ok()?.parse().ok();
        let (at, out, rest) = match (action, rest) {
            (b"GET", [index, out]) => (number(index), Some(out), None),
            (b"POP_FRONT", [out]) => (Some(0), Some(out), Some((list, 1))),
            (b"POP_FRONT", []) => (None, None, Some((list, 1))),
            (b"REMOVE_AT", [index]) if number(index) == Some(0) => (None, None, Some((list, 1))),
            (b"SUBLIST", [begin, _, out]) => {
                let out = scan.bytes(&out.inside).to_vec();
                (None, None, number(begin).map(|begin| (out, begin)))
            }
            _ => return,
        };
        if let (Some(at), Some(out)) = (at, out) {
            self.variables
                .insert(scan.bytes(&out.inside).to_vec(), Values::At(first.saturating_add(at)));
        }
        if let Some((list, more)) = rest {
            self.variables.insert(list, Values::From(first.saturating_add(more)));
        }
    }

    /// Notes a command that gives arguments to a variable of the caller.
    fn give(&mut self, scan: &Scan<'_>, name: &Argument, values: &[Argument]) {
        let is_outer = |value: &Argument| matches!(scan.word(value), b"PARENT_SCOPE" | b"CACHE");
        if !self.is_macro && !values.iter().any(is_outer) {
            return;
        }
        let target = scan.bytes(&name.inside);
        // An argument that is put back into its own variable stays in the body.
        let own = |value: &&Argument| referred(scan.bytes(&value.inside)) != Some(target);
        let found = self.any_values(scan, values.iter().filter(own));
        // `set(NAME ${NAME} PARENT_SCOPE)`
        let all = || self.any_values(scan, values.iter()).filter(|_| !self.is_macro);
        if let Some(values) = found.or_else(all) {
            self.add_give(target, values);
        }
    }

    fn add_give(&mut self, target: &[u8], values: Values) {
        let target = Some(target.to_vec());
        let give = Link { target, values, is_private: false, is_interface: false };
        if self.gives.len() < MOST_LINKS && !self.gives.contains(&give) {
            self.gives.push(give);
        }
    }

    /// True if an argument of the command refers to arguments of the function.
    fn has_arguments(&self, scan: &Scan<'_>) -> bool {
        scan.arguments().iter().any(|value| self.values(scan, value).is_some())
    }

    /// True if all arguments of a call in the body that `called` uses are arguments of this
    /// function.
    fn passes(&self, scan: &Scan<'_>, called: &Self) -> bool {
        let lists = called.uses().filter(|link| link.values.is_list());
        let mut used = lists.flat_map(|link| called.arguments(scan, &link.values));
        used.all(|(_, values, _)| values.iter().all(|value| self.values(scan, value).is_some()))
    }

    /// Reads a call of another helper in the body: the arguments that `called` links, or gives to
    /// variables.
    fn call(&mut self, scan: &Scan<'_>, called: &Self) {
        for give in &called.gives {
            let Some(target) = &give.target else { continue };
            for (_, values, _) in called.arguments(scan, &give.values) {
                let target = called.replaced(scan, target);
                let values = self.any_values(scan, values.iter());
                if let (Some(target), Some(values)) = (target, values) {
                    if self.is_macro {
                        self.add_give(&target, values.clone());
                    }
                    self.variables.entry(target).or_insert(values);
                }
            }
        }
        for link in &called.links {
            let scope = (link.is_private, link.is_interface);
            for (_, values, _) in called.arguments(scan, &link.values) {
                match &link.target {
                    Some(target) => {
                        if let Some(target) = called.replaced(scan, target) {
                            self.link_values(scan, &target, values, scope);
                        }
                    }
                    None => {
                        if let [target, values @ ..] = values {
                            self.link(scan, target, values);
                        }
                    }
                }
            }
        }
    }

    /// Reads `cmake_parse_arguments(PREFIX FLAGS ONES MANY …)`.
    fn parse(&mut self, scan: &Scan<'_>, arguments: &[Argument], variables: &mut Variables) {
        let [prefix, lists @ ..] = arguments else { return };
        self.prefix = [scan.bytes(&prefix.inside), b"_"].concat();
        let rest = [&*self.prefix, b"UNPARSED_ARGUMENTS"].concat();
        self.variables.insert(rest, Values::Unparsed);
        for (at, list) in lists.iter().take(3).enumerate() {
            for text in variables.expanded(scan.bytes(&list.inside)).into_iter().flatten() {
                for keyword in text.split(|b| *b == b';').filter(|word| !word.is_empty()) {
                    let variable = [&*self.prefix, keyword].concat();
                    self.variables.insert(variable, Values::After(keyword.to_vec()));
                    self.keywords.insert(keyword.to_vec());
                    if at == 0 {
                        self.flags.insert(keyword.to_vec());
                    }
                }
            }
        }
    }

    /// Notes the variable `name` if it gets the arguments of another variable.
    fn copy(&mut self, scan: &Scan<'_>, name: &Argument, values: &[Argument]) {
        let values = self.any_values(scan, values.iter());
        if let Some(values) = values {
            let name = scan.bytes(&name.inside).to_vec();
            self.variables.entry(name).or_insert(values);
        }
    }

    /// The arguments to which a value refers, as `${NAME}` or as NAME after `LISTS`.
    fn values(&self, scan: &Scan<'_>, value: &Argument) -> Option<Values> {
        let text = scan.bytes(&value.inside);
        let name = text.strip_prefix(b"${").and_then(|rest| rest.strip_suffix(b"}"));
        let is_parameter = |name: &[u8]| self.parameters.iter().position(|own| own == name);
        let place = |name: &[u8]| argument_number(name).or_else(|| is_parameter(name));
        let at = || name.and_then(place).map(Values::At);
        self.variables.get(name.unwrap_or(text)).cloned().or_else(at)
    }

    /// The arguments to which one of `values` refers. Lists are preferred to single arguments.
    fn any_values<'v>(
        &self,
        scan: &Scan<'_>,
        values: impl Iterator<Item = &'v Argument>,
    ) -> Option<Values> {
        let mut found: Vec<Values> = values.filter_map(|value| self.values(scan, value)).collect();
        let at = found.iter().position(Values::is_list).unwrap_or(0);
        (at < found.len()).then(|| found.swap_remove(at))
    }

    fn link(&mut self, scan: &Scan<'_>, target: &Argument, values: &[Argument]) {
        if values.is_empty() {
            let Some(values) = self.values(scan, target) else { return };
            self.add(Link { target: None, values, is_private: false, is_interface: false });
            return;
        }
        self.link_values(scan, scan.bytes(&target.inside), values, (false, false));
    }

    /// Notes the arguments among `values`, which a command of the body links with `target`. The
    /// scope before the first keyword: true if it is `PRIVATE`, and true if it is `INTERFACE`.
    fn link_values(
        &mut self,
        scan: &Scan<'_>,
        target: &[u8],
        values: &[Argument],
        (mut is_private, mut is_interface): (bool, bool),
    ) {
        for value in values {
            let word = scan.word(value);
            if is_scope(word) {
                is_private = matches!(word, b"PRIVATE" | b"LINK_PRIVATE");
                is_interface = matches!(word, b"INTERFACE" | b"LINK_INTERFACE_LIBRARIES");
            } else if let Some(values) = self.values(scan, value) {
                let target = Some(target.to_vec());
                self.add(Link { target, values, is_private, is_interface });
            }
        }
    }

    fn add(&mut self, link: Link) {
        if self.links.len() < MOST_LINKS && !self.links.contains(&link) {
            self.links.push(link);
        }
    }

    /// The sets in a call: one for each list of linked arguments.
    fn sets(&self, scan: &Scan<'_>) -> Vec<Set> {
        let mut out: Vec<Set> = Vec::new();
        // A new name in a single argument belongs into a list in quotes.
        let takes = |link: &Link, values: &[Argument]| {
            link.values.is_list() || values.iter().any(|value| scan.is_quoted_list(value))
        };
        for link in &self.links {
            for (start, values, end) in self.arguments(scan, &link.values) {
                if !takes(link, values) {
                    continue;
                }
                let (target, values, start) = match (&link.target, values) {
                    (Some(target), values) => (self.replaced(scan, target), values, start),
                    (None, [target, values @ ..]) => {
                        (Some(scan.bytes(&target.inside).to_vec()), values, target.span.end)
                    }
                    (None, []) => continue,
                };
                let Some(target) = target else { continue };
                let mut found = scan.scopes(&target, values, start);
                if let Some(last) = found.last_mut() {
                    last.body.end = end;
                }
                for mut set in found {
                    if !set.is_private && !set.is_interface {
                        set.is_private = link.is_private;
                        set.is_interface = link.is_interface;
                    }
                    // Two branches of a function may link the same arguments.
                    if !out.iter().any(|other| other.body.start == set.body.start) {
                        out.push(set);
                    }
                }
            }
        }
        for give in &self.gives {
            let target = give.target.as_ref().and_then(|target| self.replaced(scan, target));
            let Some(target) = target else { continue };
            for (start, values, end) in self.arguments(scan, &give.values) {
                let mut set = scan.values(&target, values, start, SetCommand::Append);
                set.body.end = end;
                // A function may link the arguments too.
                if takes(give, values) && !out.iter().any(|other| other.body.start == start) {
                    out.push(set);
                }
            }
        }
        out.arrange_by_key(|set| set.body.start);
        out
    }

    /// The arguments of a call that `values` selects, each list with the offsets of its start and
    /// end.
    fn arguments<'s>(
        &self,
        scan: &'s Scan<'_>,
        values: &Values,
    ) -> Vec<(usize, &'s [Argument], usize)> {
        let all = scan.arguments();
        let end = scan.end();
        let after = |at: usize| {
            let before = at.checked_sub(1).and_then(|at| all.get(at));
            before.map_or_else(|| scan.start(), |word| word.span.end)
        };
        match values {
            Values::From(first) => {
                vec![(after(*first), all.get(*first..).unwrap_or_default(), end)]
            }
            Values::At(at) => {
                let Some(one) = all.get(*at..=*at) else { return Vec::new() };
                vec![(after(*at), one, one.first().map_or(end, |word| word.span.end))]
            }
            Values::Unparsed => {
                let own = self.parameters.len().min(all.len());
                let is_flag = |word: &&Argument| self.flags.contains(scan.word(word));
                let start = own + all[own..].iter().take_while(is_flag).count();
                let is_stop = |word: &Argument| self.keywords.contains(scan.word(word));
                let len = all[start..].iter().position(is_stop).unwrap_or(all.len() - start);
                let end = all.get(start + len).map_or(end, |next| next.span.start);
                vec![(after(start), &all[start..start + len], end)]
            }
            Values::After(keyword) => {
                let own = self.parameters.len().min(all.len());
                let places = (own..all.len()).filter(|at| scan.word(&all[*at]) == keyword);
                let list = |at: usize| {
                    let rest = &all[at + 1..];
                    let stop = |word: &Argument| self.keywords.contains(scan.word(word));
                    let len = rest.iter().position(stop).unwrap_or(rest.len());
                    let end = rest.get(len).map_or(end, |next| next.span.start);
                    (all[at].span.end, &rest[..len], end)
                };
                places.map(list).collect()
            }
        }
    }

    /// `text` with its references replaced by arguments of the call. `None` if it refers to other
    /// variables.
    fn replaced(&self, scan: &Scan<'_>, text: &[u8]) -> Option<Vec<u8>> {
        let (mut out, mut rest) = (Vec::new(), text);
        while let Some(at) = memchr::memmem::find(rest, b"${") {
            let len = memchr::memchr(b'}', &rest[at..])?;
            out.extend(&rest[..at]);
            let name = &rest[at + 2..at + len];
            rest = &rest[at + len + 1..];
            let place = self.parameters.iter().position(|parameter| parameter == name);
            let value = match (place.or_else(|| argument_number(name)), self.variables.get(name)) {
                (Some(at), _) => scan.arguments().get(at)?,
                (None, Some(values)) => self.arguments(scan, values).first()?.1.first()?,
                (None, None) => return None,
            };
            out.extend(scan.bytes(&value.inside));
        }
        out.extend(rest);
        Some(out)
    }
}

/// N of the variable `ARGVN`.
fn argument_number(name: &[u8]) -> Option<usize> {
    std::str::from_utf8(name.strip_prefix(b"ARGV")?).ok()?.parse().ok()
}

/// The sets after `LINK_LIBS` and `LINK_COMPONENTS` in commands of LLVM.
fn keywords(scan: &Scan<'_>) -> Vec<Set> {
    let arguments = scan.arguments();
    let Some(target) = arguments.first() else { return Vec::new() };
    let target = scan.bytes(&target.inside);
    let is_word = |argument: &Argument| {
        let word = scan.word(argument);
        word.len() > 3 && word.iter().all(|b| b.is_ascii_uppercase() || *b == b'_')
    };
    let mut sets = Vec::new();
    for (at, keyword) in arguments.iter().enumerate() {
        if !matches!(scan.word(keyword), b"LINK_LIBS" | b"LINK_COMPONENTS") {
            continue;
        }
        let rest = &arguments[at + 1..];
        let stop = |argument: &Argument| is_word(argument) && !is_scope(scan.word(argument));
        let len = rest.iter().position(stop).unwrap_or(rest.len());
        let end = rest.get(len).map_or(scan.end(), |next| next.span.start);
        let mut found = scan.scopes(target, &rest[..len], keyword.span.end);
        if let Some(last) = found.last_mut() {
            last.body.end = end;
        }
        sets.extend(found);
    }
    sets
}
