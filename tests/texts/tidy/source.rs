//! Rust sources as `tidy` reads them: without comments and the contents of strings, so that only
//! code is found. Lines keep their numbers.

use std::path::Path;

/// One file.
pub(crate) struct Source {
    /// Its path in the repository.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: String,
}

/// All Rust files below a folder, sorted.
pub(crate) fn sources(folder: &str) -> Vec<Source> {
    let mut out = Vec::new();
    collect(folder, &mut out);
    assert!(!out.is_empty(), "{folder} has no sources");
    out.sort_by(|a, b| a.path.cmp(&b.path));
    out
}

fn collect(folder: &str, out: &mut Vec<Source>) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in std::fs::read_dir(repository.join(folder)).expect("a folder of sources") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a name in UTF-8");
        let path = format!("{folder}/{name}");
        if entry.path().is_dir() {
            collect(&path, out);
        } else if entry.path().extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(entry.path()).expect("a source in UTF-8");
            out.push(Source { path, text });
        }
    }
}

impl Source {
    /// The text with comments, strings and character literals emptied.
    pub(crate) fn code(&self) -> String {
        strip(&self.text)
    }

    /// [`Self::code`] up to the module of unit tests, which must be the last item of the file.
    pub(crate) fn code_without_tests(&self) -> String {
        let code = self.code();
        let Some(at) = code.find("#[cfg(test)]\nmod ") else {
            assert!(!code.contains("#[cfg(test)]"), "{}: tests outside of a module", self.path);
            return code;
        };
        // The first brace in the first column closes the module.
        let rest = &code[at..];
        let after = rest.find("\n}").map_or("", |end| &rest[end + 2..]);
        assert!(after.trim().is_empty(), "{}: code behind the tests", self.path);
        code[..at].to_owned()
    }
}

/// True if `word` occurs in a line of code, not as a part of a longer name.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(part) && !line[at + word.len()..].starts_with(part))
}

fn strip(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let len = skipped(rest, out.chars().next_back());
        if len == 0 {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            // Removed text keeps its line ends.
            out.extend(rest[..len].chars().filter(|c| *c == '\n'));
            rest = &rest[len..];
        }
    }
    out
}

/// Length of the comment or literal with which `rest` begins; zero if it begins with code.
fn skipped(rest: &str, before: Option<char>) -> usize {
    let in_name = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block(rest);
    }
    if rest.starts_with('"') {
        return quoted(rest, '"');
    }
    if rest.starts_with('\'') {
        return character(rest);
    }
    let raw = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r')).filter(|_| !in_name);
    if let Some(raw) = raw {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let open = rest.len() - raw.len() + hashes + 1;
            return rest[open..].find(&end).map_or(rest.len(), |at| open + at + end.len());
        }
    }
    0
}

/// Length of a block comment, which may contain others.
fn block(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Length of a literal that `end` closes, with escapes.
fn quoted(rest: &str, end: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == end => return at + end.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// Length of a character literal; zero for a lifetime.
fn character(rest: &str) -> usize {
    let mut chars = rest.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) | (_, Some('\'')) => quoted(rest, '\''),
        _ => 0,
    }
}

#[test]
fn only_code_is_left() {
    let text =
        "let a = \"unsafe \\\" x\"; // unsafe\nr#\"unsafe\"#; 'u'; '\\''; /* unsafe /* */ */ b<'a>";
    assert_eq!(strip(text), "let a = ; \n; ; ;  b<'a>");
    assert!(has_word("unsafe {", "unsafe") && !has_word("unsafe_code", "unsafe"));
    assert!(has_word("x.unwrap()", "unwrap") && !has_word("x.unwrap_or(1)", "unwrap"));
}
