//! Reads lists in the calls of functions and macros: those of the file, if they link some of their
//! arguments, also by calls of each other, and the commands of LLVM. `trace` decides if the links
//! get the arguments.

use super::helpers::{Helper, Helpers, Link, Values};
use super::scan::{Scan, Scanned, is_scope};
use super::values::Variables;
use super::{Set, SetCommand};
use crate::format::cmake::Argument;
use crate::order::Arrange as _;
use std::collections::BTreeSet;

/// Maximum number of links in one function that are read.
const MOST_LINKS: usize = 20;
/// Maximum number of functions with the same name that are compared.
const MOST_ALIKE: usize = 8;

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
                helpers.open.push(Helper::new(inside(name), parameters));
            }
            (b"endfunction" | b"endmacro", _) => {
                let Some(helper) = helpers.open.pop() else { return };
                let name = helper.name.to_ascii_lowercase();
                out.arguments.extend(helper.variables.keys().cloned());
                let alike = helpers.known.entry(name).or_default();
                if alike.len() <= MOST_ALIKE {
                    alike.push(helper);
                }
            }
            (name, _) => {
                if let Some(open) = helpers.open.last_mut() {
                    open.note(self, variables);
                    for called in helpers.known.get(name).into_iter().flatten() {
                        open.call(self, called);
                    }
                }
            }
        }
    }

    /// Notes a call of a helper, and whether `sets` has all arguments that the helper links.
    pub(super) fn note_call(&self, helpers: &mut Helpers, sets: &[Set]) {
        let name = self.name();
        helpers.is_open |= name == b"cmake_language";
        let Some(known) = helpers.known.get(&name) else {
            helpers.undefined.insert(name);
            return;
        };
        let mut links = known.iter().flat_map(|helper| {
            helper.links.iter().flat_map(|link| helper.arguments(self, &link.values))
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

    /// The set of `set_property(TARGET NAME PROPERTY LINK_LIBRARIES …)`.
    pub(super) fn property(&self) -> Option<Set> {
        let Property { target, name, values, is_interface } = self.linked_property()?;
        let target = self.bytes(&target.inside);
        let mut set = self.values(target, values, name.span.end, SetCommand::Link);
        (set.is_private, set.is_interface) = (!is_interface, is_interface);
        Some(set)
    }

    /// Reads `set_property(TARGET NAME [APPEND] PROPERTY LINK_LIBRARIES …)`, and the same for
    /// `INTERFACE_LINK_LIBRARIES`. `None` for other properties.
    fn linked_property(&self) -> Option<Property<'_>> {
        let is = |word: &Argument, text: &[u8]| self.word(word) == text;
        let [kind, target, rest @ ..] = self.arguments() else { return None };
        let rest = match rest {
            [append, rest @ ..] if is(append, b"APPEND") => rest,
            rest => rest,
        };
        let [property, name, values @ ..] = rest else { return None };
        if !is(kind, b"TARGET") || !is(property, b"PROPERTY") || values.is_empty() {
            return None;
        }
        let is_interface = match self.word(name) {
            b"LINK_LIBRARIES" => false,
            b"INTERFACE_LINK_LIBRARIES" => true,
            _ => return None,
        };
        Some(Property { target, name, values, is_interface })
    }
}

/// The libraries that a command gives to a property of a target.
struct Property<'s> {
    target: &'s Argument,
    /// The name of the property.
    name: &'s Argument,
    values: &'s [Argument],
    is_interface: bool,
}

impl Helper {
    fn new(name: Vec<u8>, parameters: Vec<Vec<u8>>) -> Self {
        let rest = (b"ARGN".to_vec(), Values::From(parameters.len()));
        let variables = [rest, (b"ARGV".to_vec(), Values::From(0))].into_iter().collect();
        let (prefix, keywords, links) = (Vec::new(), BTreeSet::new(), Vec::new());
        Self { name, parameters, prefix, keywords, variables, links }
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
            (b"foreach" | b"set", [name, values @ ..]) => self.copy(scan, name, values),
            (b"list", [_, name, values @ ..]) => self.copy(scan, name, values),
            (name, [target, values @ ..]) if name.ends_with(b"target_link_libraries") => {
                self.link(scan, target, values);
            }
            (b"set_property", _) => {
                if let Some(found) = scan.linked_property() {
                    let target = scan.bytes(&found.target.inside).to_vec();
                    let scope = (!found.is_interface, found.is_interface);
                    self.link_values(scan, &target, found.values, scope);
                }
            }
            _ => {}
        }
    }

    /// Reads a call of another helper in the body: the arguments that `called` links.
    fn call(&mut self, scan: &Scan<'_>, called: &Self) {
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
        for list in lists.iter().take(3) {
            for text in variables.expanded(scan.bytes(&list.inside)).into_iter().flatten() {
                for keyword in text.split(|b| *b == b';').filter(|word| !word.is_empty()) {
                    let variable = [&*self.prefix, keyword].concat();
                    self.variables.insert(variable, Values::After(keyword.to_vec()));
                    self.keywords.insert(keyword.to_vec());
                }
            }
        }
    }

    /// Notes the variable `name` if it gets the arguments of another variable.
    fn copy(&mut self, scan: &Scan<'_>, name: &Argument, values: &[Argument]) {
        let values = values.iter().find_map(|value| self.values(scan, value));
        if let Some(values) = values.cloned() {
            let name = scan.bytes(&name.inside).to_vec();
            self.variables.entry(name).or_insert(values);
        }
    }

    /// The arguments to which a value refers, as `${NAME}` or as NAME after `LISTS`.
    fn values(&self, scan: &Scan<'_>, value: &Argument) -> Option<&Values> {
        let text = scan.bytes(&value.inside);
        let name = text.strip_prefix(b"${").and_then(|rest| rest.strip_suffix(b"}"));
        self.variables.get(name.unwrap_or(text))
    }

    fn link(&mut self, scan: &Scan<'_>, target: &Argument, values: &[Argument]) {
        if values.is_empty() {
            let Some(values) = self.values(scan, target).cloned() else { return };
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
            } else if let Some(values) = self.values(scan, value).cloned() {
                let target = Some(target.to_vec());
                self.add(Link { target, values, is_private, is_interface });
            }
        }
    }

    fn add(&mut self, link: Link) {
        if self.links.len() < MOST_LINKS {
            self.links.push(link);
        }
    }

    /// The sets in a call: one for each list of linked arguments.
    fn sets(&self, scan: &Scan<'_>) -> Vec<Set> {
        let mut out: Vec<Set> = Vec::new();
        for link in &self.links {
            for (start, values, end) in self.arguments(scan, &link.values) {
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
        match values {
            Values::From(first) => {
                let before = first.checked_sub(1).and_then(|at| all.get(at));
                let start = before.map_or_else(|| scan.start(), |word| word.span.end);
                vec![(start, all.get(*first..).unwrap_or_default(), end)]
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
            let value = match (place, self.variables.get(name)) {
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
