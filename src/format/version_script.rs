//! Version scripts (`--version-script`), which assign versions to symbols. The parser finds the
//! symbols that they name (`ScriptParser::readVersionDeclaration` in `lld/ELF/ScriptParser.cpp`).

use super::script::{Token, tokens};

/// The names in a version script, without patterns and without the demangled names of
/// `extern "C++"`. `None` if a comment or a quoted name has no end.
pub fn names(text: &[u8]) -> Option<Vec<Box<[u8]>>> {
    let tokens = tokens(text)?;
    let mut out = Vec::new();
    // `demangled` is the depth at which the list of `extern "C++"` starts.
    let (mut depth, mut demangled) = (0_usize, None);
    for (at, token) in tokens.iter().enumerate() {
        let is_last = matches!(tokens.get(at + 1), Some(Token::End));
        let is_name = is_last && depth > 0 && demangled.is_none();
        match token {
            Token::Brace(true) => {
                depth += 1;
                let is_demangled =
                    tokens[..at].ends_with(&[Token::Word(b"extern"), Token::Quoted(b"C++")]);
                demangled = demangled.or(is_demangled.then_some(depth));
            }
            Token::Brace(false) => {
                demangled = demangled.filter(|start| *start != depth);
                depth = depth.saturating_sub(1);
            }
            Token::Word(name) | Token::Quoted(name) if is_name => {
                let is_pattern = name.iter().any(|byte| b"*?[".contains(byte));
                out.extend((!is_pattern).then(|| (*name).into()));
            }
            _ => {}
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn names_that_are_no_patterns() {
        let text = b"V1 { global: a; b*; \"c\"; local: d; extern \"C++\" { e; \"f()\"; }; };\n\
            V2 { g; extern \"C\" { h; }; } V1; { i; };";
        let found = names(text).expect("a version script");
        let expected: [&[u8]; 6] = [b"a", b"c", b"d", b"g", b"h", b"i"];
        assert!(found.iter().map(|name| &**name).eq(expected), "{found:?}");
        assert_eq!(names(b"{ \"a; };"), None);
    }
}
