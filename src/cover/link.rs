//! A link whose order matters: its inputs in order, and the options that define, rename or request
//! names. `views::archive` makes it from a command line; [`super::in_order`] applies the rules of
//! its linker.

use crate::id::ArchiveId;

/// The symbol of a program's first instruction: linkers extract the member that defines it.
pub const ENTRY: &[u8] = b"_start";

/// A linker whose rules are followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Linker {
    /// LLVM's `ld.lld`.
    #[default]
    Lld,
    /// GNU ld (`ld.bfd`).
    Gnu,
    /// mold.
    Mold,
}

impl Linker {
    /// All linkers with their names on the command line.
    pub const ALL: &[(&str, Self)] =
        &[("lld", Self::Lld), ("gnu", Self::Gnu), ("mold", Self::Mold)];

    /// The name on the command line.
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
    /// `--start-group`
    StartGroup,
    /// `--end-group`
    EndGroup,
    /// `--defsym`, as an index in [`Link::defined`].
    Define(usize),
}

/// `--defsym NAME=EXPRESSION`
#[derive(Clone, Debug)]
pub struct DefsymOption {
    /// The name.
    pub name: Box<[u8]>,
    /// The symbols in the expression.
    pub refers: Vec<Box<[u8]>>,
}

/// `--wrap NAME`
#[derive(Clone, Debug)]
pub struct Wrap {
    /// References to this name go to `wrapper`.
    pub name: Box<[u8]>,
    /// `__wrap_NAME`
    pub wrapper: Box<[u8]>,
    /// `__real_NAME`: references to it go to `name`.
    pub real: Box<[u8]>,
}

/// The inputs and options of one link.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// The linker.
    pub linker: Linker,
    /// The inputs, in order.
    pub inputs: Vec<LinkInput>,
    /// `--entry`: the name that replaces [`ENTRY`].
    pub entry: Option<Box<[u8]>>,
    /// `--undefined`: names that extract members and may stay undefined.
    pub undefined: Vec<Box<[u8]>>,
    /// `--defsym`
    pub defined: Vec<DefsymOption>,
    /// `--wrap`
    pub wraps: Vec<Wrap>,
    /// Strong references of shared objects that the linker reports if no input defines them, each
    /// with the index of its root.
    pub shared_references: Vec<(Box<[u8]>, usize)>,
}

impl DefsymOption {
    /// Parses `NAME=EXPRESSION`; `None` if either is empty.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let at = memchr::memchr(b'=', text)?;
        let (name, expression) = (text[..at].trim_ascii(), text[at + 1..].trim_ascii());
        let is_part = |b: u8| b.is_ascii_alphanumeric() || b"_.$".contains(&b) || !b.is_ascii();
        let words = expression.split(|b| !is_part(*b));
        // A number begins with a digit, and a lone dot is the location counter.
        let is_symbol = |word: &&[u8]| word.first().is_some_and(|b| !b.is_ascii_digit());
        let refers = words.filter(|word| is_symbol(word) && *word != b".");
        let refers = refers.map(Into::into).collect();
        (!name.is_empty() && !expression.is_empty()).then(|| Self { name: name.into(), refers })
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
    /// The symbol of the first instruction.
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

    /// The names in the expressions of `--defsym`.
    pub(super) fn expressions(&self) -> impl Iterator<Item = &[u8]> {
        self.defined.iter().flat_map(|defined| &defined.refers).map(|name| &**name)
    }
}

#[cfg(test)]
mod tests {
    use super::DefsymOption;

    #[test]
    fn expressions_name_symbols() {
        let defined = DefsymOption::parse(b"foo = bar+0x10*(.baz)").expect("an assignment");
        assert_eq!(&*defined.name, b"foo");
        let refers: Vec<&[u8]> = defined.refers.iter().map(|name| &**name).collect();
        assert_eq!(refers, [&b"bar"[..], b".baz"]);
        assert!(DefsymOption::parse(b"foo=").is_none() && DefsymOption::parse(b"foo").is_none());
    }
}
