//! A link whose order matters: its inputs in order, and the options that define, rename or request
//! names. `views::archive` makes it from a command line; [`super::in_order`] applies the rules of
//! its linker.

use super::ReferringFile;
use super::expression::{KEYWORDS, OF_NAMES, read_symbols, words};
use crate::format::elf::Object;
use crate::format::version_script::VersionedName;
use crate::id::{ArchiveId, FastSet};
use std::os::unix::ffi::OsStrExt as _;

/// The symbol of a program's first instruction: linkers extract the member that defines it.
pub const ENTRY: &[u8] = b"_start";

/// A linker whose rules [`super::in_order`] can apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Linker {
    /// LLVM's linker, `ld.lld`.
    #[default]
    Lld,
    /// The linker of GNU binutils, `ld.bfd`.
    Gnu,
    /// The linker mold.
    Mold,
}

impl Linker {
    /// All linkers with their names on the command line.
    pub const ALL: &[(&str, Self)] =
        &[("lld", Self::Lld), ("gnu", Self::Gnu), ("mold", Self::Mold)];

    /// The linker's name in sentences.
    pub fn title(self) -> &'static str {
        if self == Self::Gnu { "GNU ld" } else { self.name() }
    }

    /// The linker's name on the command line.
    pub fn name(self) -> &'static str {
        let of = |(_, linker): &&(&str, Self)| *linker == self;
        Self::ALL.iter().find(of).map_or("", |(name, _)| *name)
    }
}

/// One input of the link.
#[derive(Clone, Debug)]
pub enum LinkInput {
    /// An object or a shared object, as an index in [`super::CoverageQuestion::roots`].
    Root(usize),
    /// An archive, or an object of `--start-lib`: members are extracted on demand.
    Archive(ArchiveId),
    /// An archive under `--whole-archive`: all members are linked.
    Whole(ArchiveId),
    /// `--start-group`: the inputs up to the end of the group are searched repeatedly.
    StartGroup,
    /// `--end-group`: the end of the innermost group.
    EndGroup,
    /// `--defsym` or an assignment of a script, as an index in [`Link::defined`].
    Define(usize),
    /// EXTERN of a script that GNU ld reads, as an index in [`Link::requested`].
    Request(usize),
}

impl LinkInput {
    /// The archive; `None` for any other input.
    pub(super) fn archive(&self) -> Option<ArchiveId> {
        match self {
            Self::Archive(archive) | Self::Whole(archive) => Some(*archive),
            _ => None,
        }
    }
}

/// `--defsym NAME=EXPRESSION`, or an assignment of a linker script.
#[derive(Clone, Debug)]
pub struct DefsymOption {
    /// The symbol that the option defines.
    pub name: Box<[u8]>,
    /// The symbols in the expression that need a definition.
    pub refers: Vec<Box<[u8]>>,
    /// Symbols in the expression that DEFINED tests, or that the linker skips because of a constant
    /// condition. They may stay undefined. Only lld extracts the members that define them.
    pub guarded: Vec<Box<[u8]>>,
    /// The symbols that can be the whole value of the expression: `bar` in `foo=bar`, and the
    /// branches of `foo = DEFINED(bar) ? bar : baz`. In GNU ld, the new symbol gets the section of
    /// the symbol that is the value.
    pub copied: Vec<Box<[u8]>>,
    /// True if the expression needs the layout of the output, which GNU ld knows only after it has
    /// read all inputs.
    pub needs_layout: bool,
    /// True if the expression has branches (`?`).
    pub has_branches: bool,
    /// True if the expression defines no symbol: ASSERT of a script, or a value of `.`, which is
    /// then the name. GNU ld extracts no member for such an expression.
    pub is_nameless: bool,
    /// True for PROVIDE: the name is defined only if the link refers to it and no file defines it.
    pub provided: bool,
}

/// The three names of `--wrap NAME`.
#[derive(Clone, Debug)]
pub struct Wrap {
    /// The wrapped name: references to it go to `wrapper`.
    pub name: Box<[u8]>,
    /// `__wrap_NAME`, to which references to `name` go.
    pub wrapper: Box<[u8]>,
    /// `__real_NAME`: references to this name go to `name`.
    pub real: Box<[u8]>,
}

/// The inputs and options of one link.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// The linker whose rules apply.
    pub linker: Linker,
    /// The inputs, in order.
    pub inputs: Vec<LinkInput>,
    /// The roots that are read with `--as-needed`. GNU ld forgets a shared object that defines
    /// none of the names that are undefined at its position. mold forgets a shared object to which
    /// no file of the link refers.
    pub as_needed: FastSet<usize>,
    /// The roots that `-l` found.
    pub found_by_name: FastSet<usize>,
    /// `--entry`: the name that replaces [`ENTRY`].
    pub entry: Option<Box<[u8]>>,
    /// `--undefined`: names that extract members and may stay undefined.
    pub undefined: Vec<Box<[u8]>>,
    /// Names of EXTERN. Their position among the inputs matters only for GNU ld.
    pub requested: Vec<Box<[u8]>>,
    /// The symbols that `--defsym` and linker scripts define.
    pub defined: Vec<DefsymOption>,
    /// Names in version scripts of lld, which need a definition or a member with a definition.
    pub versioned: Vec<VersionedName>,
    /// The names that `--wrap` redirects.
    pub wraps: Vec<Wrap>,
    /// Strong references of shared objects that the linker reports if no input defines them, each
    /// with the index of its root.
    pub shared_references: Vec<(Box<[u8]>, usize)>,
    /// Names to which shared objects refer strongly, and which a library behind the inputs
    /// defines: a library that an input needs and that is not an input. GNU ld then does not
    /// report weak references of objects to these names.
    pub defined_behind: FastSet<Box<[u8]>>,
    /// `--allow-shlib-undefined`: GNU ld then reports only names that an object defines and hides.
    pub allow_shlib_undefined: bool,
    /// True if the indices of archives were read. GNU ld finds members only by these indices.
    pub indexed: bool,
    /// `--export-dynamic`: `--gc-sections` keeps the exported names of a program too.
    pub export_dynamic: bool,
    /// True if the linker does not replace calls that find thread-local data.
    pub keeps_tls_calls: bool,
}

/// Words of expressions whose value depends on the layout of the output. `ALIGN` does so if it has
/// one argument.
const OF_LAYOUT: &[&[u8]] = &[
    b"ADDR",
    b"ALIGNOF",
    b"BLOCK",
    b"DATA_SEGMENT_ALIGN",
    b"DATA_SEGMENT_END",
    b"DATA_SEGMENT_RELRO_END",
    b"LOADADDR",
    b"NEXT",
    b"SIZEOF",
    b"SIZEOF_HEADERS",
];

/// The symbols whose section the value of an expression may have: lone symbols, also after unary
/// operators, in parentheses and as branches of `?`. The result of a binary operator is absolute.
fn whole_symbols(expression: &[u8]) -> Vec<&[u8]> {
    let branches = match memchr::memchr(b'?', expression) {
        Some(at) => &expression[at + 1..],
        None => expression,
    };
    let is_wrapping = |b: &u8| b.is_ascii_whitespace() || b"()".contains(b);
    let mut out = Vec::new();
    for part in branches.split(|b| b"?:".contains(b)) {
        let is_before = |b: &u8| is_wrapping(b) || b"-~!".contains(b);
        let start = part.iter().position(|b| !is_before(b)).unwrap_or(part.len());
        let end = part.iter().rposition(|b| !is_wrapping(b)).map_or(start, |at| at + 1);
        let part = &part[start..end];
        let quotes = if part.starts_with(b"\"") { 2 } else { 0 };
        let name = words(part).next().filter(|name| name.len() + quotes == part.len());
        let is_symbol = |name: &&[u8]| !name.first().is_none_or(u8::is_ascii_digit);
        out.extend(name.filter(is_symbol).filter(|name| *name != b"."));
    }
    out
}

impl DefsymOption {
    /// Parses `NAME=EXPRESSION` by the rules of a linker; `None` if either is empty.
    pub fn parse(text: &[u8], linker: Linker) -> Option<Self> {
        let at = memchr::memchr(b'=', text)?;
        let (name, expression) = (text[..at].trim_ascii(), text[at + 1..].trim_ascii());
        let (mut symbols, mut tested) = (Vec::<Box<[u8]>>::new(), Vec::<Box<[u8]>>::new());
        let mut before: &[u8] = b"";
        for word in words(expression) {
            // A number begins with a digit, and a lone dot is the location counter.
            let is_symbol = !word.first().is_some_and(u8::is_ascii_digit) && word != b".";
            if before == b"DEFINED" {
                tested.push(word.into());
            } else if is_symbol && !KEYWORDS.contains(&word) && !OF_NAMES.contains(&before) {
                symbols.push(word.into());
            }
            before = if OF_NAMES.contains(&before) { b"" } else { word };
        }
        let read = read_symbols(expression, linker == Linker::Lld);
        let is_skipped =
            |name: &[u8]| read.as_ref().is_some_and(|read| read.iter().all(|one| *one != name));
        let (guarded, refers) =
            symbols.into_iter().partition(|name| tested.contains(name) || is_skipped(name));
        let is_whole = !name.is_empty() && !expression.is_empty();
        let copied = whole_symbols(expression).into_iter().map(Into::into).collect();
        let is_of_layout = |word: &[u8]| {
            OF_LAYOUT.contains(&word) || word == b"ALIGN" && !expression.contains(&b',')
        };
        let needs_layout = words(expression).any(is_of_layout);
        let has_branches = expression.contains(&b'?');
        is_whole.then(|| Self {
            name: name.into(),
            refers,
            guarded,
            copied,
            needs_layout,
            has_branches,
            provided: false,
            is_nameless: false,
        })
    }

    /// Parses an expression that defines no symbol; `None` if it is empty.
    pub fn nameless(expression: &[u8], linker: Linker) -> Option<Self> {
        let parsed = Self::parse(&[b".=", expression].concat(), linker)?;
        Some(Self { is_nameless: true, ..parsed })
    }
}

impl Wrap {
    /// The names of `--wrap NAME`.
    pub fn new(name: &[u8]) -> Self {
        let with = |prefix: &[u8]| [prefix, name].concat().into();
        Self { name: name.into(), wrapper: with(b"__wrap_"), real: with(b"__real_") }
    }
}

impl Link {
    /// The symbol of the first instruction: the one of `--entry`, or [`ENTRY`].
    pub(super) fn entry(&self) -> &[u8] {
        self.entry.as_deref().unwrap_or(ENTRY)
    }

    /// The name to which `--wrap` redirects a reference to `name`, else `name` itself.
    pub fn reference<'a>(&'a self, name: &'a [u8]) -> &'a [u8] {
        for wrap in &self.wraps {
            if *wrap.name == *name {
                return &wrap.wrapper;
            }
            if *wrap.real == *name {
                return &wrap.name;
            }
        }
        name
    }

    /// The name of the shared object `root` in DT_NEEDED entries: its DT_SONAME, or else its path
    /// as on the command line. If `-l` found the root, the file name alone replaces the path. `at`
    /// is the index of the root.
    pub fn needed_name<'a>(
        &self,
        at: usize,
        root: &'a ReferringFile,
        object: Option<&'a Object>,
    ) -> &'a [u8] {
        let soname = object.and_then(Object::soname).filter(|name| !name.is_empty());
        let file = root.path.file_name().filter(|_| self.found_by_name.contains(&at));
        soname.unwrap_or(file.unwrap_or(root.path.as_os_str()).as_bytes())
    }

    /// True for `__wrap_NAME` of a `--wrap NAME`.
    pub(super) fn is_wrapper(&self, name: &[u8]) -> bool {
        self.wraps.iter().any(|wrap| *wrap.wrapper == *name)
    }

    /// The names whose values the expressions of `--defsym` and of scripts need.
    pub(super) fn expressions(&self) -> impl Iterator<Item = &[u8]> {
        let names = self.defined.iter().flat_map(|defined| &defined.refers);
        names.map(|name| self.in_expression(name))
    }

    /// The name that an expression means by `name`: `--wrap` of lld and GNU ld redirects it too
    /// (`bfd_wrapped_link_hash_lookup`).
    pub(super) fn in_expression<'a>(&'a self, name: &'a [u8]) -> &'a [u8] {
        if self.linker == Linker::Mold { name } else { self.reference(name) }
    }
}

#[cfg(test)]
mod tests {
    use super::{DefsymOption, Linker};

    fn parse(text: &[u8]) -> Option<DefsymOption> {
        DefsymOption::parse(text, Linker::Gnu)
    }

    #[test]
    fn expressions_name_symbols() {
        let defined = parse(b"foo = bar+0x10*(.baz)").expect("an assignment");
        assert_eq!(&*defined.name, b"foo");
        let refers: Vec<&[u8]> = defined.refers.iter().map(|name| &**name).collect();
        assert_eq!(refers, [&b"bar"[..], b".baz"]);
        assert!(defined.copied.is_empty());
        for (expression, expected) in [
            ("bar", &["bar"][..]),
            ("( (bar) )", &["bar"]),
            ("\"bar\"", &["bar"]),
            ("-bar", &["bar"]),
            ("DEFINED(bar) ? (bar) : baz", &["bar", "baz"]),
            ("a ? 0 : bar+4", &[]),
            ("1 + bar", &[]),
            ("0x10", &[]),
        ] {
            let defined = parse(format!("x={expression}").as_bytes());
            let copied = defined.expect("an assignment").copied;
            let expected = expected.iter().map(|name| name.as_bytes());
            assert!(copied.iter().map(|name| &**name).eq(expected), "{expression}");
        }
        for (expression, expected) in [
            ("DEFINED(f) ? f : g", &["g"][..]),
            ("ADDR(.text) + SIZEOF(.data) + SIZEOF_HEADERS", &[]),
            ("MAX(a, CONSTANT(MAXPAGESIZE)) + ALIGN(., 8)", &["a"]),
            ("SEGMENT_START(\"text-segment\", \"b\") + ABSOLUTE(c)", &["b", "c"]),
        ] {
            let defined = parse(format!("x={expression}").as_bytes());
            let refers = defined.expect("an assignment").refers;
            let expected: Vec<&[u8]> = expected.iter().map(|name| name.as_bytes()).collect();
            assert!(refers.iter().map(|name| &**name).eq(expected), "{expression}");
        }
        for (expression, expected) in [
            ("bar + 1", false),
            ("SIZEOF(.text)", true),
            ("bar + SIZEOF_HEADERS", true),
            ("ALIGN(8)", true),
            ("ALIGN(bar, 8)", false),
        ] {
            let defined = parse(format!("x={expression}").as_bytes());
            assert_eq!(defined.expect("an assignment").needs_layout, expected, "{expression}");
        }
        assert!(parse(b"foo=").is_none() && parse(b"foo").is_none());
    }
}
