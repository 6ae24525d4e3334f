//! Replaces references and escapes in arguments (cmake-language(7), sections Variable References
//! and Escape Sequences), and splits unquoted arguments at semicolons.

use super::eval::Eval;
use super::parsed::Parsed;
use super::value::{ArgumentWord, MaybeText, items, known};
use crate::format::cmake::{Argument, ArgumentKind};

/// Maximum nesting depth of references, as in `${${A}}`.
const DEEPEST: usize = 16;
/// Maximum length of an argument after references are replaced, in bytes.
const MOST_TEXT: usize = 1 << 20;

impl Eval<'_> {
    /// The words of the arguments of a command, with references replaced. Each parenthesis is a
    /// separate word.
    pub(super) fn words(&mut self, file: &Parsed, arguments: &[Argument]) -> Vec<ArgumentWord> {
        let mut out = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let text = file.text(argument);
            match argument.kind {
                ArgumentKind::Bracket => {
                    out.push(ArgumentWord { value: known(text), quoted: true });
                }
                ArgumentKind::Quoted => {
                    let value = self.expanded(text, true);
                    out.push(ArgumentWord { value, quoted: true });
                }
                ArgumentKind::Parenthesis => {
                    out.push(ArgumentWord { value: known(text), quoted: false });
                }
                ArgumentKind::Unquoted => match self.expanded(text, false) {
                    None => out.push(ArgumentWord { value: None, quoted: false }),
                    Some(text) => {
                        let list = items(&text, true).into_iter();
                        out.extend(
                            list.map(|item| ArgumentWord { value: known(item), quoted: false }),
                        );
                    }
                },
            }
        }
        out
    }

    /// A text with its references replaced. `None` if a value is unknown, or if the text is too
    /// long or nested too deeply.
    pub(super) fn expanded(&mut self, text: &[u8], quoted: bool) -> MaybeText {
        let mut rest = text;
        let out = self.part(&mut rest, quoted, 0)?;
        self.spend(out.len());
        (out.len() <= MOST_TEXT).then_some(out.into())
    }

    /// Replaces references up to the `}` that ends the enclosing reference, or at depth 0 up to the
    /// end of the text. `None` if a value is unknown or a limit is exceeded.
    fn part(&mut self, rest: &mut &[u8], quoted: bool, depth: usize) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(rest.len());
        let mut is_known = true;
        while let Some((byte, after)) = rest.split_first() {
            match byte {
                b'}' if depth > 0 => {
                    *rest = after;
                    return is_known.then_some(out);
                }
                b'\\' => {
                    *rest = after;
                    escape(rest, quoted, &mut out);
                }
                b'$' => match reference(rest) {
                    Some((kind, len)) if depth < DEEPEST => {
                        *rest = &rest[len..];
                        let name = self.part(rest, quoted, depth + 1);
                        match name.and_then(|name| self.referred(kind, &name)) {
                            Some(value) => out.extend_from_slice(&value),
                            None => is_known = false,
                        }
                    }
                    Some(_) => return None,
                    None => {
                        out.push(b'$');
                        *rest = after;
                    }
                },
                byte => {
                    out.push(*byte);
                    *rest = after;
                }
            }
            if out.len() > MOST_TEXT {
                return None;
            }
        }
        is_known.then_some(out)
    }

    fn referred(&self, kind: VariableKind, name: &[u8]) -> MaybeText {
        match kind {
            VariableKind::Variable => self.referred_value(name),
            // The consumer's environment and cache are unknown.
            VariableKind::Environment => None,
            VariableKind::Cache => None,
        }
    }
}

#[derive(Clone, Copy)]
enum VariableKind {
    Variable,
    Environment,
    Cache,
}

/// The kind of the reference at the start of `text`, and the length of its opening, such as `${`.
/// `None` for other text.
fn reference(text: &[u8]) -> Option<(VariableKind, usize)> {
    let all = [
        (&b"${"[..], VariableKind::Variable),
        (b"$ENV{", VariableKind::Environment),
        (b"$CACHE{", VariableKind::Cache),
    ];
    all.into_iter()
        .find(|(start, _)| text.starts_with(start))
        .map(|(start, kind)| (kind, start.len()))
}

/// Decodes one escape sequence into `out`; `rest` starts after the backslash.
fn escape(rest: &mut &[u8], quoted: bool, out: &mut Vec<u8>) {
    let Some((byte, after)) = rest.split_first() else {
        out.push(b'\\');
        return;
    };
    match byte {
        b't' => out.push(b'\t'),
        b'r' => out.push(b'\r'),
        b'n' => out.push(b'\n'),
        // A line continuation.
        b'\n' if quoted => {}
        // The backslash stays, because lists are split later.
        b';' => out.extend(b"\\;"),
        byte => out.push(*byte),
    }
    *rest = after;
}
