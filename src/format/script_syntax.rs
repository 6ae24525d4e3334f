//! The commands that each linker knows outside of the braces of a linker script. A linker refuses a
//! script with another word there.

use super::script::{Token, is_insert, len_of_expression, len_until, operator, tokens};

/// The commands with parentheses that lld and GNU ld both know.
const WITH_PARENTHESES: &[&[u8]] = &[
    b"ASSERT",
    b"ENTRY",
    b"EXTERN",
    b"GROUP",
    b"HIDDEN",
    b"INPUT",
    b"NOCROSSREFS",
    b"NOCROSSREFS_TO",
    b"OUTPUT",
    b"OUTPUT_ARCH",
    b"OUTPUT_FORMAT",
    b"PROVIDE",
    b"PROVIDE_HIDDEN",
    b"REGION_ALIAS",
    b"SEARCH_DIR",
    b"TARGET",
];

/// The commands with braces that lld and GNU ld both know.
const WITH_BRACES: &[&[u8]] = &[b"MEMORY", b"PHDRS", b"SECTIONS", b"VERSION"];

/// The commands that only one of the two linkers knows.
struct Commands {
    with_parentheses: &'static [&'static [u8]],
    with_braces: &'static [&'static [u8]],
    words: &'static [&'static [u8]],
    /// True for GNU ld: a comma may end an assignment, and INSERT may follow any command. lld knows
    /// INSERT only after SECTIONS.
    is_gnu: bool,
}

/// The commands of lld 19 (`ScriptParser::readLinkerScript` in `lld/ELF/ScriptParser.cpp`).
const OF_LLD: Commands = Commands {
    with_parentheses: &[],
    with_braces: &[b"OVERWRITE_SECTIONS"],
    words: &[],
    is_gnu: false,
};

/// The commands of GNU ld (`ld/ldgram.y`).
const OF_GNU: Commands = Commands {
    with_parentheses: &[b"HLL", b"LD_FEATURE", b"MAP", b"STARTUP", b"SYSLIB"],
    with_braces: &[],
    words: &[
        b"FLOAT",
        b"FORCE_COMMON_ALLOCATION",
        b"FORCE_GROUP_ALLOCATION",
        b"INHIBIT_COMMON_ALLOCATION",
        b"NOFLOAT",
    ],
    is_gnu: true,
};

/// Commands in parentheses that are assignments: a semicolon follows them.
const ASSIGNMENTS: &[&[u8]] = &[b"HIDDEN", b"PROVIDE", b"PROVIDE_HIDDEN"];

/// The first word in a script that lld 19 does not expect there. `None` if lld knows all commands.
pub fn unknown_to_lld(text: &[u8]) -> Option<Vec<u8>> {
    OF_LLD.first_unknown(&tokens(text)?)
}

/// The first word in a script that GNU ld does not expect there. `None` if GNU ld knows all
/// commands.
pub fn unknown_to_gnu(text: &[u8]) -> Option<Vec<u8>> {
    OF_GNU.first_unknown(&tokens(text)?)
}

/// The first word in a script that mold 1.10 does not expect there. `None` if mold accepts the
/// script (`parse_linker_script` in `elf/linker-script.cc`).
pub fn unknown_to_mold(text: &[u8]) -> Option<Vec<u8>> {
    let tokens = tokens(text)?;
    let mut rest = &*tokens;
    loop {
        rest = match rest {
            [] => return None,
            [Token::End, rest @ ..] => rest,
            [Token::Word(b"INPUT" | b"GROUP" | b"OUTPUT_FORMAT"), Token::Open, rest @ ..] => {
                after(rest, (&Token::Open, &Token::Close))?
            }
            [Token::Word(b"VERSION"), Token::Brace(true), rest @ ..] => {
                after(rest, (&Token::Brace(true), &Token::Brace(false)))?
            }
            // mold 1.10 takes any value for a symbol, and crashes if no file defines it. It may
            // crash if the name is `.`.
            [name, Token::Word(b"="), value, Token::End, rest @ ..]
                if name.is_name() && value.is_name() && *name != Token::Word(b".") =>
            {
                if value.text().1.first().is_none_or(|byte| byte.is_ascii_digit() || *byte == b'-')
                {
                    return Some(value.text().1.to_vec());
                }
                rest
            }
            [first, ..] => return Some(first.text().1.to_vec()),
        };
    }
}

/// The tokens after the parentheses or braces of `pair`. `tokens` begin after the start. `None` if
/// the end is missing.
fn after<'a, 't>(
    tokens: &'a [Token<'t>],
    pair: (&Token<'_>, &Token<'_>),
) -> Option<&'a [Token<'t>]> {
    tokens.get(len_until(tokens, pair) + 1..)
}

/// The tokens after INSERT, if it comes next.
fn after_insert<'a, 't>(tokens: &'a [Token<'t>]) -> Option<&'a [Token<'t>]> {
    match tokens {
        [insert, Token::Word(b"AFTER" | b"BEFORE"), section, rest @ ..]
            if is_insert(insert) && section.is_name() =>
        {
            Some(rest)
        }
        _ => None,
    }
}

impl Commands {
    fn first_unknown(&self, tokens: &[Token<'_>]) -> Option<Vec<u8>> {
        let mut rest = tokens;
        while let Some(first) = rest.first() {
            match self.after_command(rest) {
                Some(after) => rest = after,
                None => return Some(first.text().1.to_vec()),
            }
        }
        None
    }

    /// The tokens after the command with which `tokens` begin; `None` if the linker does not know
    /// it.
    fn after_command<'a, 't>(&self, tokens: &'a [Token<'t>]) -> Option<&'a [Token<'t>]> {
        match tokens {
            [Token::End, rest @ ..] => Some(rest),
            [Token::Word(b"INCLUDE"), file, rest @ ..] if file.is_name() => Some(rest),
            [Token::Word(word), Token::Open, rest @ ..]
                if WITH_PARENTHESES.contains(word) || self.with_parentheses.contains(word) =>
            {
                let rest = after(rest, (&Token::Open, &Token::Close))?;
                if ASSIGNMENTS.contains(word) { self.after_separator(rest) } else { Some(rest) }
            }
            [Token::Word(word), Token::Brace(true), rest @ ..]
                if WITH_BRACES.contains(word) || self.with_braces.contains(word) =>
            {
                let rest = after(rest, (&Token::Brace(true), &Token::Brace(false)))?;
                let inserted = if *word == b"SECTIONS" { after_insert(rest) } else { None };
                Some(inserted.unwrap_or(rest))
            }
            [first, ..] if self.is_gnu && is_insert(first) => after_insert(tokens),
            [name, Token::Word(word), rest @ ..] if name.is_name() && operator(word).is_some() => {
                self.after_separator(&rest[len_of_expression(rest)..])
            }
            [Token::Word(word), rest @ ..] if self.words.contains(word) => Some(rest),
            _ => None,
        }
    }

    fn is_separator(&self, token: &Token<'_>) -> bool {
        *token == Token::End || self.is_gnu && *token == Token::Comma
    }

    fn after_separator<'a, 't>(&self, tokens: &'a [Token<'t>]) -> Option<&'a [Token<'t>]> {
        tokens.split_first().filter(|(first, _)| self.is_separator(first)).map(|(_, rest)| rest)
    }
}

#[cfg(test)]
mod tests {
    use super::{unknown_to_gnu, unknown_to_lld};

    #[test]
    fn commands_that_linkers_do_not_know() {
        for (text, of_lld, of_gnu) in [
            ("", None, None),
            ("OUTPUT_FORMAT(elf64-x86-64) GROUP(a.a AS_NEEDED(b.so))", None, None),
            ("ENTRY(f); x = MAX(1, 2); y += 1; PROVIDE(z = 1);", None, None),
            ("SECTIONS { .x : { *(.x) } } INSERT AFTER .y; INCLUDE a.ld", None, None),
            ("ASSERT(1, \"x\") INPUT(a.o)", None, None),
            ("INPUT(a.o) FOO", Some("FOO"), Some("FOO")),
            ("BYTE(1) INPUT(a.o)", Some("BYTE"), Some("BYTE")),
            ("INPUT(a.o) x=3;", Some("x=3"), Some("x=3")),
            ("x = 3 INPUT(a.o)", Some("x"), Some("x")),
            ("SECTIONS { .x : {", Some("SECTIONS"), Some("SECTIONS")),
            ("PROVIDE(x = 1) INPUT(a.o)", Some("PROVIDE"), Some("PROVIDE")),
            ("INPUT(a.o), INPUT(b.o)", Some(","), Some(",")),
            ("x = 3, INPUT(a.o)", Some("x"), None),
            ("INPUT(a.o) INSERT AFTER .x;", Some("INSERT"), None),
            ("x =3; y +=4;", None, None),
            ("STARTUP(a.o)", Some("STARTUP"), None),
            ("FLOAT MAP(a) INPUT(a.o)", Some("FLOAT"), None),
            ("OVERWRITE_SECTIONS { }", None, Some("OVERWRITE_SECTIONS")),
        ] {
            let name = |found: Option<Vec<u8>>| found.and_then(|name| String::from_utf8(name).ok());
            let found = (unknown_to_lld(text.as_bytes()), unknown_to_gnu(text.as_bytes()));
            let found = (name(found.0), name(found.1));
            assert_eq!((found.0.as_deref(), found.1.as_deref()), (of_lld, of_gnu), "{text}");
        }
    }
}
