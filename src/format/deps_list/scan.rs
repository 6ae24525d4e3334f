//! Finds the commands that list archives, their values, and the blocks around them.

use super::helpers::Helpers;
use super::life::Life;
use super::loops::{FileUse, used_loops};
use super::rank::Ranks;
use super::removed::{Removal, mark_removed};
use super::repeats::Repeats;
use super::spelling::Spelling;
use super::values::{Variables, may_name, open_expressions, referred};
use super::whole_archive::WholeArchive;
use super::{Block, ListError, ListedArchive, Set, SetCommand, SetValue};
use crate::format::cmake::{Argument, ArgumentKind, CommandInvocation, commands};
use crate::id::FastMap;
use crate::order::Arrange as _;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// True for keywords such as `CACHE` and `PRIVATE`, which are not values.
pub(super) fn is_keyword(word: &[u8]) -> bool {
    matches!(word, b"PARENT_SCOPE" | b"CACHE") || is_scope(word)
}

/// True for keywords of `target_link_libraries` that set the scope of the values after them.
pub(super) fn is_scope(word: &[u8]) -> bool {
    matches!(
        word,
        b"PRIVATE"
            | b"PUBLIC"
            | b"INTERFACE"
            | b"LINK_PRIVATE"
            | b"LINK_PUBLIC"
            | b"LINK_INTERFACE_LIBRARIES"
    )
}

/// True for keywords that apply only to the value after them.
pub(super) fn is_qualifier(word: &[u8]) -> bool {
    matches!(word, b"debug" | b"optimized" | b"general")
}

/// True for linker options whose value is the next argument, such as `-L dir`.
fn takes_value(option: &[u8]) -> bool {
    let options: [&[u8]; 10] = [
        b"-framework",
        b"-weak_framework",
        b"-needed_framework",
        b"-reexport_framework",
        b"-Xlinker",
        b"-arch",
        b"-F",
        b"-L",
        b"-u",
        b"-z",
    ];
    options.contains(&option)
}

/// The sets of a file, and facts about its variables and targets.
#[derive(Default)]
pub(super) struct Scanned {
    /// All sets, in the file's order.
    pub(super) sets: Vec<Set>,
    /// The words that commands remove from variables.
    pub(super) removals: Vec<Removal>,
    /// Targets with their `OUTPUT_NAME`.
    pub(super) outputs: Vec<(Vec<u8>, Vec<u8>)>,
    /// Targets whose names refer to variables (`${PROJECT_NAME}`), with the names that they get.
    pub(super) target_names: Vec<(Vec<u8>, Vec<u8>)>,
    /// The targets of `add_library(NAME INTERFACE)`, and imported targets.
    pub(super) interfaces: BTreeSet<Vec<u8>>,
    /// The targets of `add_library(NAME SHARED)` and `add_library(NAME MODULE)`.
    pub(super) shared: BTreeSet<Vec<u8>>,
    /// For each alias NAME, the TARGET of `add_library(NAME ALIAS TARGET)`.
    pub(super) aliases: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The variables whose values may be reordered: by `list(REVERSE)`, by `list(SORT)`, or by a
    /// loop that adds values in front.
    pub(super) reordered: BTreeSet<Vec<u8>>,
    /// The variables of `list(REMOVE_DUPLICATES …)`.
    pub(super) deduplicated: BTreeSet<Vec<u8>>,
    /// For each command that refers to several variables and makes no set: the variables to which
    /// it refers.
    pub(super) uses: Vec<Vec<Vec<u8>>>,
    /// The variables in which functions and macros have their arguments.
    pub(super) arguments: BTreeSet<Vec<u8>>,
}

/// Reads a file. An error if a command cannot be parsed, or if the blocks do not match.
pub(super) fn sets(text: &[u8]) -> Result<Scanned, ListError> {
    let mut out = Scanned::default();
    let mut blocks = Blocks::default();
    let mut variables = Variables::default();
    let mut lines: FastMap<(Vec<u8>, Option<Block>), u32> = FastMap::default();
    let (mut life, mut helpers) = (Life::default(), Helpers::default());
    let (mut ranks, mut repeats) = (Ranks::default(), Repeats::default());
    let mut files: Vec<FileUse> = Vec::new();
    for command in commands(text) {
        let command = command?;
        blocks.enter(&text[command.name.clone()], command.line)?;
        let scan = Scan { text, command: &command };
        scan.others(&mut out, &mut variables);
        scan.note_helper(&mut helpers, &mut out, &mut variables);
        if let Some(name) = scan.unset() {
            life.end(&out.sets, name, &blocks.here());
        }
        scan.order(&mut out);
        if blocks.in_loop() {
            files.extend(scan.used_file(blocks.here()));
        }
        let mut sets = scan.sets(&helpers);
        if scan.cache_entry().is_some_and(|entry| life.is_ignored(entry, &blocks.here())) {
            sets.clear();
        }
        scan.note_call(&mut helpers, &sets);
        let is_read = !sets.is_empty();
        for mut set in sets {
            set.blocks = blocks.here();
            set.is_repeated = repeats.holds(scan.bytes(&set.body));
            let here = set.blocks.last().copied();
            set.loop_block = here.filter(|_| scan.name() == b"foreach").map(|block| block.number);
            // `set(NAME ${NAME} a)` adds to the old value and does not replace it.
            let refers = [b"${", &*set.name, b"}"].concat();
            let adds = memchr::memmem::find(&text[set.body.clone()], &refers).is_some();
            if set.origin == SetCommand::Set && adds {
                set.origin = SetCommand::Append;
            } else if set.origin == SetCommand::Set {
                let first = if set.is_components {
                    None
                } else {
                    lines.insert((set.name.clone(), here), set.line)
                };
                // With `CACHE` or `PARENT_SCOPE`, the command does not change the variable here.
                let is_here = set.body.end == command.end;
                let is_only = is_here && life.end(&out.sets, &set.name, &set.blocks);
                if let Some(first) = first.filter(|_| !is_only && !set.entries.is_empty()) {
                    let reason = format!("the set of line {first} is set a second time");
                    set.trouble = Some(ListError { line: set.line, reason });
                }
            }
            let is_front = scan.adds_in_front(&set);
            ranks.place(&mut set, is_front);
            if is_front
                && blocks.in_loop()
                && !(set.entries.is_empty() && set.references.is_empty())
            {
                out.reordered.insert(set.name.clone());
            }
            if set.origin != SetCommand::Link {
                life.begin(&set.name, out.sets.len());
            }
            helpers.note_set(&set, out.sets.len());
            out.sets.push(set);
        }
        let read = |one: &Argument| (scan.word(one), scan.bytes(&one.inside));
        let arguments: Vec<_> = scan.arguments().iter().map(read).collect();
        repeats.note(&scan.name(), &arguments);
        let action = command.arguments.first().map_or(b"".as_slice(), |word| scan.word(word));
        let all = text.get(command.name.end..command.end).unwrap_or_default();
        let mut used = life.note((&scan.name(), action), all, command.end);
        used.arrange();
        used.dedup();
        if !is_read && used.len() > 1 {
            out.uses.push(used);
        }
    }
    blocks.end()?;
    helpers.drop_passed(&mut out.sets);
    let loops = used_loops(&mut out.sets, &files);
    let mut effective = life.effective(&out.sets, &loops).into_iter();
    out.sets.retain(|_| effective.next().unwrap_or(true));
    for (number, set) in out.sets.iter_mut().enumerate() {
        set.number = number;
    }
    variables.resolve(&mut out.sets);
    mark_removed(&mut out.sets, &out.removals);
    Ok(out)
}

/// The blocks around the current command, the outermost first.
#[derive(Default)]
struct Blocks {
    open: Vec<OpenBlock>,
    count: usize,
}

struct OpenBlock {
    command: &'static str,
    line: u32,
    block: Block,
}

/// Maximum number of blocks around a command.
const MOST_NESTED: usize = 200;

/// Commands that begin a block. The name of the command that ends the block has `end` in front.
const BLOCKS: [&str; 6] = ["if", "foreach", "while", "function", "macro", "block"];

impl Blocks {
    /// Updates the blocks for a command that opens a block, begins its next arm, or closes it. An
    /// error if `else()`, `elseif()` or an end command has no matching open block, or if too many
    /// blocks are open.
    fn enter(&mut self, command: &[u8], line: u32) -> Result<(), ListError> {
        let is = |word: &str| command.eq_ignore_ascii_case(word.as_bytes());
        let error = |reason| Err(ListError { line, reason });
        if let Some(command) = BLOCKS.into_iter().find(|block| is(block)) {
            if self.open.len() == MOST_NESTED {
                return error(format!("more than {MOST_NESTED} blocks are nested"));
            }
            let block = Block {
                number: self.count,
                arm: 0,
                is_condition: command == "if",
                is_function: command == "function",
                is_macro: command == "macro",
            };
            self.count += 1;
            self.open.push(OpenBlock { command, line, block });
        } else if is("elseif") || is("else") {
            match self.open.last_mut() {
                Some(open) if open.command == "if" => open.block.arm += 1,
                _ => return error("an else() or elseif() has no if()".to_owned()),
            }
        } else if let Some(end) = BLOCKS.into_iter().find(|block| {
            command.get(..3).is_some_and(|end| end.eq_ignore_ascii_case(b"end"))
                && command[3..].eq_ignore_ascii_case(block.as_bytes())
        }) && self.open.pop().is_none_or(|open| open.command != end)
        {
            return error(format!("an end{end}() has no {end}()"));
        }
        Ok(())
    }

    /// True inside of a loop.
    fn in_loop(&self) -> bool {
        self.open.iter().any(|open| matches!(open.command, "foreach" | "while"))
    }

    /// The open blocks.
    fn here(&self) -> Vec<Block> {
        self.open.iter().map(|open| open.block).collect()
    }

    /// An error if a block is still open at the end of the file.
    fn end(&self) -> Result<(), ListError> {
        let Some(open) = self.open.last() else { return Ok(()) };
        let (article, name) = (if open.command == "if" { "an" } else { "a" }, open.command);
        let reason = format!("{article} {name}() has no end{name}()");
        Err(ListError { line: open.line, reason })
    }
}

/// Finds the sets of one command.
pub(super) struct Scan<'t> {
    text: &'t [u8],
    command: &'t CommandInvocation,
}

impl<'t> Scan<'t> {
    /// Another command of the file.
    pub(super) fn other<'c>(&self, command: &'c CommandInvocation) -> Scan<'c>
    where
        't: 'c,
    {
        Scan { text: self.text, command }
    }

    /// The command.
    pub(super) fn command(&self) -> &CommandInvocation {
        self.command
    }

    pub(super) fn bytes(&self, span: &Range<usize>) -> &[u8] {
        self.text.get(span.clone()).unwrap_or_default()
    }

    /// The bytes of an unquoted argument. Empty for other arguments, because keywords are never
    /// quoted.
    pub(super) fn word(&self, argument: &Argument) -> &[u8] {
        if argument.kind == ArgumentKind::Unquoted { self.bytes(&argument.span) } else { b"" }
    }

    /// The arguments of the command.
    pub(super) fn arguments(&self) -> &[Argument] {
        &self.command.arguments
    }

    /// The name of the command in lower case.
    pub(super) fn name(&self) -> Vec<u8> {
        self.bytes(&self.command.name).to_ascii_lowercase()
    }

    /// The variable that the command unsets; `None` for other commands.
    fn unset(&self) -> Option<&[u8]> {
        match &*self.command.arguments {
            [name] if self.name() == b"unset" => Some(self.bytes(&name.inside)),
            _ => None,
        }
    }

    /// The set of `foreach(NAME a b)`, `foreach(NAME IN ITEMS a b)` or
    /// `foreach(NAME IN LISTS A B)`. Empty for other forms.
    fn loop_items(&self, name: &Argument, values: &[Argument]) -> Vec<Set> {
        let (start, values) = match values {
            [first, second, rest @ ..]
                if self.word(first) == b"IN" && self.word(second) == b"ITEMS" =>
            {
                (second.span.end, rest)
            }
            values => (name.span.end, values),
        };
        let is_other = |value: &Argument| matches!(self.word(value), b"IN" | b"LISTS" | b"RANGE");
        let own = self.bytes(&name.inside);
        if let [first, second, lists @ ..] = values
            && self.word(first) == b"IN"
            && self.word(second) == b"LISTS"
            && !lists.iter().any(|list| is_other(list) || self.word(list) == b"ITEMS")
        {
            let mut set = self.values(own, &[], second.span.end, SetCommand::Append);
            for list in lists {
                let (name, line) = (self.bytes(&list.inside), list.line);
                let reason = format!("${{{}}}", String::from_utf8_lossy(name));
                set.unknown.push(ListError { line, reason });
                set.references.push((0, name.to_vec()));
            }
            return vec![set];
        }
        if values.iter().any(is_other) {
            return Vec::new();
        }
        vec![self.values(own, values, start, SetCommand::Append)]
    }

    /// The sets that the command makes: one for each list of values. Empty if the command lists no
    /// values.
    fn sets(&self, helpers: &Helpers) -> Vec<Set> {
        let arguments = &*self.command.arguments;
        match (&*self.name(), arguments) {
            (b"set", [name, values @ ..]) => self.set(name, values, SetCommand::Set),
            (b"llvm_map_components_to_libnames", [name, values @ ..]) => {
                let mut sets = self.set(name, values, SetCommand::Set);
                sets.iter_mut().for_each(Set::name_components);
                sets
            }
            (b"list", [action, name, values @ ..])
                if matches!(self.word(action), b"APPEND" | b"PREPEND") =>
            {
                self.set(name, values, SetCommand::Append)
            }
            (b"list", [action, name, index, values @ ..]) if self.word(action) == b"INSERT" => {
                let mut sets = self.set(name, values, SetCommand::Append);
                for set in &mut sets {
                    set.body.start = index.span.end;
                }
                sets
            }
            (b"string", [action, name, values @ ..]) if self.word(action) == b"APPEND" => {
                self.text(name, values)
            }
            (b"foreach", [name, values @ ..]) => self.loop_items(name, values),
            (b"link_libraries", [..]) => {
                let set = self.values(b"link_libraries", arguments, self.start(), SetCommand::Link);
                vec![set]
            }
            (command, [target, values @ ..]) if command.ends_with(b"target_link_libraries") => {
                self.scopes(self.bytes(&target.inside), values, target.span.end)
            }
            (b"set_property" | b"set_target_properties", _) => self.properties(),
            _ => self.called(helpers),
        }
    }

    /// The offset of the command's end.
    pub(super) fn end(&self) -> usize {
        self.command.end
    }

    /// The offset after the opening parenthesis.
    pub(super) fn start(&self) -> usize {
        let from = self.command.name.end;
        let open = self.text.get(from..).and_then(|rest| memchr::memchr(b'(', rest));
        open.map_or(self.command.end, |open| from + open + 1)
    }

    /// Number of arguments of `set()` before `CACHE` or `PARENT_SCOPE`. The type and the
    /// description of a cache variable are not values.
    pub(super) fn values_end(&self, values: &[Argument]) -> usize {
        let is_end =
            |argument: &Argument| matches!(self.word(argument), b"CACHE" | b"PARENT_SCOPE");
        values.iter().position(is_end).unwrap_or(values.len())
    }

    fn set(&self, name: &Argument, values: &[Argument], origin: SetCommand) -> Vec<Set> {
        let raw = self.bytes(&name.inside);
        let odd = |b: &u8| matches!(b, b'\\' | b';' | b'\n') || b.is_ascii_whitespace();
        // `ENV{NAME}` and `CACHE{NAME}` are not variables of the file.
        let other = raw.starts_with(b"ENV{") || raw.starts_with(b"CACHE{");
        if raw.is_empty() || other || raw.iter().any(odd) || name.kind == ArgumentKind::Parenthesis
        {
            return Vec::new();
        }
        let is_set = origin == SetCommand::Set;
        let end = if is_set { self.values_end(values) } else { values.len() };
        let mut set = self.values(raw, &values[..end], name.span.end, origin);
        set.body.end = values.get(end).map_or(self.command.end, |word| word.span.start);
        vec![set]
    }

    /// The set of `string(APPEND NAME …)`. Its values become mentions, because they may continue
    /// the text of earlier values.
    fn text(&self, name: &Argument, values: &[Argument]) -> Vec<Set> {
        let mut sets = self.set(name, &[], SetCommand::Text);
        for value in values {
            let text = String::from_utf8_lossy(self.bytes(&value.inside)).into_owned();
            let unread = ListError { line: value.line, reason: text };
            for set in &mut sets {
                set.unknown.push(unread.clone());
            }
        }
        sets
    }

    /// One set for the values of `target_link_libraries` before its first scope keyword, and one
    /// for the values after each keyword. Empty sets are omitted.
    pub(super) fn scopes(&self, target: &[u8], values: &[Argument], start: usize) -> Vec<Set> {
        let (mut sets, mut start, mut rest) = (Vec::new(), start, values);
        let (mut is_private, mut is_interface) = (false, false);
        loop {
            let end = rest.iter().position(|argument| is_scope(self.word(argument)));
            let here = &rest[..end.unwrap_or(rest.len())];
            if !here.is_empty() {
                let mut set = self.values(target, here, start, SetCommand::Link);
                set.body.end = end.map_or(set.body.end, |at| rest[at].span.start);
                (set.is_private, set.is_interface) = (is_private, is_interface);
                sets.push(set);
            }
            let Some(keyword) = end.and_then(|at| rest.get(at)) else { return sets };
            is_private = matches!(self.word(keyword), b"PRIVATE" | b"LINK_PRIVATE");
            is_interface = matches!(self.word(keyword), b"INTERFACE" | b"LINK_INTERFACE_LIBRARIES");
            start = keyword.span.end;
            rest = &rest[end.unwrap_or_default() + 1..];
        }
    }

    /// Makes a set of `values`. `start` is the offset at which its text begins.
    pub(super) fn values(
        &self,
        name: &[u8],
        values: &[Argument],
        start: usize,
        origin: SetCommand,
    ) -> Set {
        let mut set = Set {
            name: name.to_vec(),
            entries: Vec::new(),
            mentions: Vec::new(),
            references: Vec::new(),
            rank: 0,
            is_components: false,
            is_ambiguous: false,
            has_known_items: false,
            is_private: false,
            is_interface: false,
            is_repeated: false,
            loop_block: None,
            trouble: None,
            line: self.command.line,
            origin,
            blocks: Vec::new(),
            unknown: Vec::new(),
            items: Vec::with_capacity(values.len()),
            body: start..self.command.end,
            number: 0,
        };
        let (mut depth, mut whole, mut at) = (0_usize, WholeArchive::default(), 0);
        while let Some(value) = values.get(at) {
            let text = self.bytes(&value.span);
            at += 1;
            let was_open = depth > 0;
            if value.kind != ArgumentKind::Bracket {
                depth = open_expressions(depth, text);
            }
            if (is_qualifier(self.word(value)) || takes_value(self.bytes(&value.inside)))
                && let Some(next) = values.get(at)
            {
                // The value of `-Xlinker` may be `--whole-archive`.
                whole.read(self.bytes(&next.inside));
                let span = value.span.start..next.span.end;
                let before = set.items.len();
                let is_plain = memchr::memmem::find(self.bytes(&next.span), b"$<").is_none();
                // `general a` is the same as `a`.
                if self.word(value) == b"general" && is_plain {
                    self.elements(next, &mut set);
                } else if is_qualifier(self.word(value)) {
                    self.unread(next, &mut set);
                }
                match &mut set.items[before..] {
                    [] => set.items.push(SetValue { span, is_inner: false, is_closed: false }),
                    [item] => item.span = span,
                    _ => {}
                }
                set.items[before..].iter_mut().for_each(|item| item.is_closed = whole.is_on);
                at += 1;
                continue;
            }
            let is_expression =
                was_open || depth > 0 || memchr::memmem::find(text, b"$<").is_some();
            let before = set.items.len();
            if is_expression || value.kind == ArgumentKind::Parenthesis {
                let span = value.span.clone();
                set.items.push(SetValue { span, is_inner: false, is_closed: false });
                self.unread(value, &mut set);
            } else {
                self.elements(value, &mut set);
            }
            for item in &mut set.items[before..] {
                let span = if item.is_inner { &item.span } else { &value.inside };
                whole.read(self.bytes(span));
                item.is_closed = whole.is_on || depth > 0 || takes_value(self.bytes(span));
            }
        }
        if depth > 0 {
            let reason = "a generator expression has no end".to_owned();
            set.trouble = Some(ListError { line: set.line, reason });
        }
        set
    }

    /// Adds a value to [`Set::unknown`]. [`Variables::resolve`] reads it later.
    fn unread(&self, value: &Argument, set: &mut Set) {
        let reason = String::from_utf8_lossy(self.bytes(&value.inside)).into_owned();
        set.unknown.push(ListError { line: value.line, reason });
    }

    /// Adds the elements of one argument. CMake splits values at `;` (cmake-language(7), Lists).
    fn elements(&self, value: &Argument, set: &mut Set) {
        let inside = self.bytes(&value.inside);
        let (mut parts, mut begin, mut depth, mut at) = (Vec::new(), 0, 0_i64, 0);
        while let Some(b) = inside.get(at) {
            match b {
                b'\\' => at += 1,
                b'[' => depth += 1,
                b']' => depth -= 1,
                // CMake does not split at `;` between brackets, or after an unclosed bracket.
                b';' if depth == 0 => {
                    parts.push(begin..at);
                    begin = at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        parts.push(begin..inside.len());
        let is_inner = parts.len() > 1;
        for part in parts {
            let part = without_continuations(inside, part);
            if is_inner && part.is_empty() {
                continue;
            }
            let text = inside.get(part.clone()).unwrap_or_default();
            let base = value.inside.start;
            let span =
                if is_inner { base + part.start..base + part.end } else { value.span.clone() };
            if let Some((name, spelling)) = Spelling::read(text) {
                let before = self.bytes(&(value.span.start..value.inside.start + part.start));
                let lines = memchr::memchr_iter(b'\n', before).count();
                let line = value.line.saturating_add(u32::try_from(lines).unwrap_or(0));
                let (name, item) = (name.to_vec(), set.items.len());
                set.entries.push(ListedArchive {
                    name,
                    line,
                    is_known: false,
                    is_removed: false,
                    spelling,
                    item,
                });
            } else if may_name(text) {
                let reason = String::from_utf8_lossy(text).into_owned();
                set.unknown.push(ListError { line: value.line, reason });
                let name = referred(text).map(|name| (set.entries.len(), name.to_vec()));
                set.references.extend(name);
            }
            set.items.push(SetValue { span, is_inner, is_closed: false });
        }
    }
}

/// `part` of an argument, without line continuations at the ends of the part.
fn without_continuations(inside: &[u8], mut part: Range<usize>) -> Range<usize> {
    let text = |part: &Range<usize>| inside.get(part.clone()).unwrap_or_default();
    while text(&part).starts_with(b"\\\n") || text(&part).starts_with(b"\\\r\n") {
        part.start += if text(&part).starts_with(b"\\\n") { 2 } else { 3 };
    }
    while text(&part).ends_with(b"\\\n") || text(&part).ends_with(b"\\\r\n") {
        part.end -= if text(&part).ends_with(b"\\\r\n") { 3 } else { 2 };
    }
    part
}
