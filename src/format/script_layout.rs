//! Expressions in linker scripts that place sections: addresses, alignments, fill values and memory
//! regions. Linkers refuse most of them if they refer to a symbol.

use super::script::{Token, joined, len_until, tokens};

/// Functions around such an expression.
const FUNCTIONS: &[&[u8]] = &[b"ALIGN", b"AT", b"FILL", b"SUBALIGN"];

/// Attributes of a region in MEMORY.
const OF_REGIONS: &[&[u8]] = &[b"LENGTH", b"ORIGIN", b"l", b"len", b"o", b"org"];

/// Words between the name of an output section and its colon that are not expressions.
const TYPES: &[&[u8]] =
    &[b"COPY", b"DSECT", b"INFO", b"NOLOAD", b"OVERLAY", b"READONLY", b"TYPE", b"="];

/// The texts of the expressions in SECTIONS and MEMORY that place sections.
pub fn layout_expressions(text: &[u8]) -> Vec<Vec<u8>> {
    let tokens = tokens(text).unwrap_or_default();
    let mut out = Vec::new();
    let (mut braces, mut command): (usize, &[u8]) = (0, b"");
    for (at, token) in tokens.iter().enumerate() {
        let rest = &tokens[at + 1..];
        match (token, rest) {
            (Token::Word(word), [Token::Brace(true), ..]) if braces == 0 => command = word,
            (Token::Brace(true), _) => braces += 1,
            (Token::Brace(false), _) => {
                braces = braces.saturating_sub(1);
                if let ([Token::Word(fill), after @ ..], b"SECTIONS") = (rest, command)
                    && let Some(value) = fill.strip_prefix(b"=")
                {
                    let after = after.first().filter(|_| value.is_empty());
                    out.push(after.map_or(value, |token| token.text().1).to_vec());
                }
            }
            (Token::Word(word), [Token::Open, inside @ ..])
                if braces > 0 && FUNCTIONS.contains(word) =>
            {
                out.push(joined(&inside[..len_until(inside, (&Token::Open, &Token::Close))]));
            }
            (Token::Word(word), [Token::Word(b"="), value, ..])
                if command == b"MEMORY" && OF_REGIONS.contains(word) =>
            {
                out.push(value.text().1.to_vec());
            }
            (Token::Word(_), _) if braces == 1 && command == b"SECTIONS" => {
                let is_first = at.checked_sub(1).is_none_or(|at| tokens[at].ends_statement());
                out.extend(address(rest).filter(|_| is_first));
            }
            _ => {}
        }
    }
    out
}

/// The address of an output section. `rest` begins after the name of the section. `None` if there
/// is no address, or if the statement is not an output section.
fn address(rest: &[Token<'_>]) -> Option<Vec<u8>> {
    let is_end = |token: &Token<'_>| match token {
        Token::Word(word) => word.ends_with(b":"),
        token => matches!(token, Token::Brace(_) | Token::End),
    };
    let len = rest.iter().position(is_end)?;
    let Token::Word(last) = rest[len] else { return None };
    let is_assignment = matches!(rest.first(), Some(Token::Word(word)) if word.ends_with(b"="));
    let is_plain = |token: &&Token<'_>| !matches!(token, Token::Word(word) if TYPES.contains(word));
    let mut text: Vec<u8> =
        rest[..len].iter().filter(is_plain).flat_map(|token| token.text().1).copied().collect();
    text.extend(last.strip_suffix(b":").unwrap_or_default());
    (!is_assignment && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::layout_expressions;

    #[test]
    fn expressions_that_place_sections() {
        for (text, expected) in [
            ("SECTIONS { .x a : { *(.x) } }", &["a"][..]),
            ("SECTIONS { .x : AT(b) { *(.x) FILL(c) } = d }", &["b", "c", "d"]),
            ("SECTIONS { .x : { *(.x) } =0x90 }", &["0x90"]),
            ("SECTIONS { .x 0x1000 (NOLOAD) : { *(.x) } f = g; .y : { } }", &["0x1000()"]),
            ("SECTIONS { . = ALIGN(8); .x : { f = .; KEEP(*(.x)) } }", &["8"]),
            ("MEMORY { r (rx) : ORIGIN = a, LENGTH = 4K }", &["a", "4K"]),
            ("PHDRS { text PT_LOAD; }", &[]),
        ] {
            let found = layout_expressions(text.as_bytes());
            let expected = expected.iter().map(|text| text.as_bytes());
            assert!(found.iter().map(|text| &**text).eq(expected), "{text}: {found:?}");
        }
    }
}
