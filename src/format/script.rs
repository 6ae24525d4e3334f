//! Linker scripts in place of a library or an archive: the files that they name. Only the commands
//! that name files are parsed (`ld/ldgram.y`): INPUT, GROUP and AS_NEEDED. All others are skipped.
//! `cli::scripts` is the caller.

use crate::format::elf::Target;
use object::elf;

/// A file or library that a script names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptName {
    /// A file by its name.
    File(Vec<u8>),
    /// A library by `-lNAME`.
    Library(Vec<u8>),
}

/// A part of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptInput {
    /// A name in a list.
    Named(ScriptName),
    /// `GROUP(`: linkers search the archives up to [`Self::EndGroup`] repeatedly.
    StartGroup,
    /// The end of the list of GROUP.
    EndGroup,
}

/// The format of an output file, by its name in BFD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputFormat {
    name: &'static str,
    is_64: bool,
    big: bool,
    machine: elf::Machine,
}

const fn format(name: &'static str, is_64: bool, big: bool, machine: elf::Machine) -> OutputFormat {
    OutputFormat { name, is_64, big, machine }
}

/// Formats of the machines for which distributions build packages.
const FORMATS: &[OutputFormat] = &[
    format("elf64-x86-64", true, false, elf::EM_X86_64),
    format("elf32-x86-64", false, false, elf::EM_X86_64),
    format("elf32-i386", false, false, elf::EM_386),
    format("elf64-littleaarch64", true, false, elf::EM_AARCH64),
    format("elf64-bigaarch64", true, true, elf::EM_AARCH64),
    format("elf32-littlearm", false, false, elf::EM_ARM),
    format("elf32-bigarm", false, true, elf::EM_ARM),
    format("elf64-littleriscv", true, false, elf::EM_RISCV),
    format("elf32-littleriscv", false, false, elf::EM_RISCV),
    format("elf64-loongarch", true, false, elf::EM_LOONGARCH),
    format("elf64-powerpcle", true, false, elf::EM_PPC64),
    format("elf64-powerpc", true, true, elf::EM_PPC64),
    format("elf32-powerpc", false, true, elf::EM_PPC),
    format("elf64-s390", true, true, elf::EM_S390),
    format("elf32-s390", false, true, elf::EM_S390),
    format("elf64-sparc", true, true, elf::EM_SPARCV9),
];

impl OutputFormat {
    /// True if objects for `target` can be in such a file.
    pub fn fits(&self, target: Target) -> bool {
        (self.is_64, self.big, self.machine.0) == (target.is_64, target.big, target.machine)
    }
}

/// The format that a script names with OUTPUT_FORMAT; `None` without one, or for an unknown name.
pub fn output_format(text: &[u8]) -> Option<OutputFormat> {
    let tokens = tokens(text)?;
    let name = tokens.windows(3).find_map(|three| match three {
        [Token::Word(b"OUTPUT_FORMAT"), Token::Open, Token::Word(name) | Token::Quoted(name)] => {
            Some(*name)
        }
        _ => None,
    })?;
    FORMATS.iter().find(|format| format.name.as_bytes() == name).copied()
}

/// Upper bound, in bytes, for a script: people write such files by hand.
pub const MOST: u64 = 1 << 20;

#[derive(Debug, PartialEq, Eq)]
enum Token<'t> {
    Open,
    Close,
    Word(&'t [u8]),
    Quoted(&'t [u8]),
}

/// The inputs of a script, in their order. `None` if the text is not a valid script, or has neither
/// INPUT nor GROUP.
pub fn inputs(text: &[u8]) -> Option<Vec<ScriptInput>> {
    let tokens = tokens(text)?;
    let mut out = Vec::new();
    // The depth of parentheses, the depth at which the list of inputs began, and its kind.
    let (mut depth, mut list, mut is_group) = (0_usize, None, false);
    let mut known = false;
    let mut before: Option<&[u8]> = None;
    for token in &tokens {
        match token {
            Token::Open => {
                depth += 1;
                if matches!(before, Some(b"INPUT" | b"GROUP")) && list.is_none() {
                    (list, known) = (Some(depth), true);
                    is_group = matches!(before, Some(b"GROUP"));
                    out.extend(is_group.then_some(ScriptInput::StartGroup));
                }
                before = None;
            }
            Token::Close => {
                if list == Some(depth) {
                    list = None;
                    out.extend(is_group.then_some(ScriptInput::EndGroup));
                }
                depth = depth.checked_sub(1)?;
                before = None;
            }
            Token::Word(word) => {
                let word = *word;
                if list.is_some() && word != b"AS_NEEDED" {
                    out.push(ScriptInput::Named(match word.strip_prefix(b"-l") {
                        Some(name) => ScriptName::Library(name.to_vec()),
                        None => ScriptName::File(word.to_vec()),
                    }));
                }
                before = Some(word);
            }
            Token::Quoted(name) => {
                if list.is_some() {
                    out.push(ScriptInput::Named(ScriptName::File(name.to_vec())));
                }
                before = None;
            }
        }
    }
    (known && depth == 0).then_some(out)
}

/// Words, parentheses and quoted names. `None` if a comment or a quote has no end, or if a NUL is
/// outside of both.
fn tokens(text: &[u8]) -> Option<Vec<Token<'_>>> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let rest = &text[at..];
        let len = match byte {
            b'/' if rest.starts_with(b"/*") => {
                2 + rest[2..].windows(2).position(|two| two == b"*/")? + 2
            }
            b'#' => rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len()),
            b'"' => {
                let len = rest[1..].iter().position(|b| *b == b'"')?;
                out.push(Token::Quoted(&rest[1..=len]));
                len + 2
            }
            b'(' => {
                out.push(Token::Open);
                1
            }
            b')' => {
                out.push(Token::Close);
                1
            }
            b',' | b';' => 1,
            byte if byte.is_ascii_whitespace() => 1,
            0 => return None,
            _ => {
                let end = |b: &u8| b.is_ascii_whitespace() || b"(),;\"\0".contains(b);
                let len = rest.iter().position(end).unwrap_or(rest.len());
                out.push(Token::Word(&rest[..len]));
                len
            }
        };
        at += len;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{ScriptInput, ScriptName, inputs, output_format};

    fn file(name: &str) -> ScriptInput {
        ScriptInput::Named(ScriptName::File(name.into()))
    }

    #[test]
    fn what_libraries_are() {
        let text = b"/* GNU ld script */\nOUTPUT_FORMAT(elf64-x86-64)\n\
            GROUP ( /lib/libc.so.6 libc_nonshared.a, \"a b.a\" AS_NEEDED ( -lfoo ld.so ) )\n\
            INPUT(x.a)";
        let found = inputs(text).expect("a script");
        let foo = ScriptInput::Named(ScriptName::Library(b"foo".to_vec()));
        let names = ["/lib/libc.so.6", "libc_nonshared.a", "a b.a"].map(file);
        assert_eq!(found[0], ScriptInput::StartGroup);
        assert_eq!(found[1..4], names);
        assert_eq!(found[4..], [foo, file("ld.so"), ScriptInput::EndGroup, file("x.a")]);
    }

    #[test]
    fn formats_of_outputs() {
        let name = |text: &str| output_format(text.as_bytes()).map(|format| format.name);
        assert_eq!(name("GROUP(a.a) OUTPUT_FORMAT(elf32-i386)"), Some("elf32-i386"));
        let three = "OUTPUT_FORMAT(\"elf64-x86-64\", \"elf64-x86-64\", \"elf64-x86-64\")";
        assert_eq!(name(three), Some("elf64-x86-64"));
        assert_eq!(name("OUTPUT_FORMAT(pe-i386) INPUT(a.a)"), None);
        assert_eq!(name("INPUT(a.a)"), None);
    }

    #[test]
    fn what_is_none() {
        for text in ["", "hello (world)", "INPUT(a", "INPUT a)", "/* INPUT(a)", "INPUT(\"a)"] {
            assert_eq!(inputs(text.as_bytes()), None, "{text}");
        }
        assert_eq!(inputs(b"INPUT(a\0b)"), None);
        assert_eq!(inputs(b"INPUT()"), Some(Vec::new()));
    }
}
