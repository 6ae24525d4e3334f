//! Specs files of GCC. [`parse`] splits a file into specs as `read_specs` in `gcc/gcc.cc` does. It
//! keeps only the words outside of conditions (`%{…}`), because GCC uses these words with any
//! options.
//!
//! Substitutions (`%…`) are not evaluated. A word with a substitution is left out. The exception is
//! a word whose only substitution is a `%s` at its end.

/// A word of a spec outside of all conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecsWord<'a> {
    /// The line, from 1.
    pub line: u32,
    /// The word, without a `%s` at its end.
    pub text: &'a [u8],
}

/// One spec: `*name:` with the text up to an empty line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec<'a> {
    /// The name of the spec, without the star.
    pub name: &'a [u8],
    /// True if GCC appends the text to an existing spec of this name.
    pub is_added: bool,
    /// The words outside of conditions, except words with substitutions.
    pub words: Vec<SpecsWord<'a>>,
}

/// The specs in a specs file, and the files that this file includes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Specs<'a> {
    /// All specs of the kind `*name:`, in the order of the file.
    pub specs: Vec<Spec<'a>>,
    /// Files that `%include <…>` names. GCC stops if one of them is missing.
    pub includes: Vec<SpecsWord<'a>>,
    /// True if GCC stops with an error at a line of the file. The lines after that line are not
    /// read.
    pub is_broken: bool,
}

/// Parses a file. `is_main` is true for the specs file that GCC reads by default, without `-specs`.
/// GCC accepts no directives, such as `%include`, in that file.
pub fn parse(text: &[u8], is_main: bool) -> Specs<'_> {
    // GCC reads the file as a C string, which ends at a NUL.
    let text = &text[..find(text, 0, b"\0")];
    let mut out = Specs::default();
    let mut lines = Lines { text, at: 0, line: 1 };
    let mut at = skip_blank(text, 0);
    while at < text.len() {
        let end = find(text, at, b"\n");
        if text[at] == b'%' && !is_main {
            let line = &text[at..end];
            let name = include(line);
            if let Some(text) = name {
                out.includes.push(SpecsWord { line: lines.number(at), text });
            }
            let is_known = name.is_some()
                || line.starts_with(b"%include_noerr")
                || line.starts_with(b"%rename");
            if !is_known {
                out.is_broken = true;
                break;
            }
            at = skip_blank(text, (end + 1).min(text.len()));
            continue;
        }
        let colon = find(text, at, b":\n");
        if text.get(colon) != Some(&b':') {
            out.is_broken = true;
            break;
        }
        let name = text[at..colon].trim_ascii_end();
        let start = skip_blank(text, colon + 1);
        let end = end_of_spec(text, start);
        if let Some(name) = name.strip_prefix(b"*") {
            let body = &text[start..end];
            // If the text begins with `+` and a blank, `set_spec` appends it to the existing spec.
            let is_added =
                body.first() == Some(&b'+') && body.get(1).is_some_and(u8::is_ascii_whitespace);
            let words = words(text, start + usize::from(is_added), end, &mut lines);
            out.specs.push(Spec { name, is_added, words });
        }
        at = skip_blank(text, end);
    }
    out
}

/// The file that a line `%include <file>` names. `None` for other lines.
fn include(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"%include")?;
    let rest = rest.first().filter(|b| matches!(b, b' ' | b'\t')).map(|_| rest.trim_ascii())?;
    rest.strip_prefix(b"<")?.strip_suffix(b">")
}

/// The offset of the first of `bytes` at or after `at`, or the length of the text.
fn find(text: &[u8], at: usize, bytes: &[u8]) -> usize {
    text[at..].iter().position(|b| bytes.contains(b)).map_or(text.len(), |found| at + found)
}

/// `skip_whitespace`: skips blanks and comments, but stops before two empty lines.
fn skip_blank(text: &[u8], mut at: usize) -> usize {
    while let Some(byte) = text.get(at) {
        match byte {
            b'\n' if text[at..].starts_with(b"\n\n\n") => return at + 1,
            b'\n' | b' ' | b'\t' => at += 1,
            b'#' => at = (find(text, at, b"\n") + 1).min(text.len()),
            _ => break,
        }
    }
    at
}

/// The end of the last line of the spec that begins at `start`. An empty line or the end of the
/// file follows that line.
fn end_of_spec(text: &[u8], start: usize) -> usize {
    let ends = |at: &usize| text[*at] == b'\n' && matches!(text.get(*at + 1), None | Some(b'\n'));
    (start..text.len()).find(ends).unwrap_or(text.len())
}

/// Converts offsets to line numbers. An offset must not be smaller than the previous one.
struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
}

impl Lines<'_> {
    fn number(&mut self, at: usize) -> u32 {
        let more = memchr::memchr_iter(b'\n', &self.text[self.at..at]).count();
        self.line = self.line.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        self.at = at;
        self.line
    }
}

/// The words from `start` to `end` that are not in braces or in function calls.
fn words<'a>(
    text: &'a [u8],
    start: usize,
    end: usize,
    lines: &mut Lines<'_>,
) -> Vec<SpecsWord<'a>> {
    let mut out = Vec::new();
    let (mut at, mut braces, mut calls) = (start, 0_u32, 0_u32);
    let mut word: Option<usize> = None;
    // True if a part of the word is in a condition, in a call or on a continued line.
    let mut is_tainted = false;
    while at <= end {
        let byte = if at < end { text[at] } else { b'\n' };
        let is_comment = byte == b'#';
        if byte.is_ascii_whitespace() || is_comment {
            let found = word.take().map(|from| &text[from..at]);
            let found = found.filter(|_| !is_tainted && braces == 0 && calls == 0);
            if let Some(found) = found {
                let line = lines.number(at.saturating_sub(found.len()));
                let plain = found.strip_suffix(b"%s").unwrap_or(found);
                if !plain.is_empty() && !plain.iter().any(|b| b"%\\".contains(b)) {
                    out.push(SpecsWord { line, text: plain });
                }
            }
            // A word continues after a blank inside of a condition or call, and after a continued
            // line.
            is_tainted &= braces > 0 || calls > 0;
            is_tainted |= byte == b'\n' && text[start..at].ends_with(b"\\");
            at = if is_comment { find(&text[..end], at, b"\n") } else { at + 1 };
            continue;
        }
        let is_call = byte == b'(' && ends_in_call(&text[start..at]);
        braces = match byte {
            b'{' => braces + 1,
            b'}' => braces.saturating_sub(1),
            _ => braces,
        };
        calls = match byte {
            b'(' if is_call || calls > 0 => calls + 1,
            b')' => calls.saturating_sub(1),
            _ => calls,
        };
        is_tainted |= b"{}".contains(&byte) || is_call || calls > 0;
        word.get_or_insert(at);
        at += 1;
    }
    out
}

/// True if `text` ends with the start of a function call (`%:name`) or of a reference to another
/// spec (`%`).
fn ends_in_call(text: &[u8]) -> bool {
    let name = text.iter().rev();
    let name = name.take_while(|b| b.is_ascii_alphanumeric() || b"-_:".contains(b)).count();
    text[..text.len() - name].ends_with(b"%")
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn words(text: &str) -> Vec<(String, String, u32)> {
        let specs = parse(text.as_bytes(), true).specs;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let all = specs.iter().flat_map(|spec| {
            spec.words.iter().map(move |word| (text(spec.name), text(word.text), word.line))
        });
        all.collect()
    }

    fn texts(text: &str) -> Vec<String> {
        words(text).into_iter().map(|(_, word, _)| word).collect()
    }

    #[test]
    fn words_outside_of_conditions() {
        let body =
            "*lib:\n-la %{pthread:-lb} %{!x:%{y:-lc}} -ld -L%{e:/f /g}/h -li # -lj\n-lk crt1.o%s";
        assert_eq!(texts(body), ["-la", "-ld", "-li", "-lk", "crt1.o"]);
        assert_eq!(texts("*a:\n%(old) %:if-exists(x%s y) %D -L%R/x -lz"), ["-lz"]);
        assert_eq!(texts("*a:\n-lx\\\n-ly -lz"), ["-lz"]);
    }

    #[test]
    fn specs_end_at_empty_lines() {
        let two = words("# c\n*a:\n\n\n*b:\n+ -lx\n  -ly\n\n*c:\n-lz\n");
        let found: Vec<_> = two.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), *c)).collect();
        assert_eq!(found, [("b", "-lx", 6), ("b", "-ly", 7), ("c", "-lz", 10)]);
        // An empty spec needs two empty lines: here the next name is its text.
        assert_eq!(texts("*a:\n\n*b:\n-lx\n"), ["*b:", "-lx"]);
    }

    #[test]
    fn directives() {
        let text = b"%include <a.spec>\n%rename lib old\n\n*lib:\n-lx\n";
        let user = parse(text, false);
        assert_eq!((user.includes[0].text, user.specs.len()), (&b"a.spec"[..], 1));
        assert!(!user.is_broken && parse(text, true).is_broken);
        assert!(parse(b"%bad\n", false).is_broken && parse(b"no colon\n", false).is_broken);
    }
}
