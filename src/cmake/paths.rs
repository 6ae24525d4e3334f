//! Evaluates the commands `file` and `get_filename_component`: globs and parts of paths.

use super::PathEntry;
use super::eval::{Eval, bytes};
use super::value::{ArgumentWord, MaybeText, constant, joined, known};
use crate::tree::without_dots;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

impl Eval<'_> {
    /// Evaluates `file(GLOB …)` and `file(TO_CMAKE_PATH …)`. Variables that other forms name
    /// become unknown.
    pub(super) fn file(&mut self, words: &[ArgumentWord]) {
        let kind =
            words.first().and_then(ArgumentWord::text).map(<[u8]>::to_vec).unwrap_or_default();
        match kind.as_slice() {
            b"GLOB" if words.len() > 2 => {
                let Some(name) = words.get(1).and_then(ArgumentWord::text).map(<[u8]>::to_vec)
                else {
                    return;
                };
                let value = self.globbed(&words[2..]);
                self.state.set(&name, value);
            }
            b"TO_CMAKE_PATH" => {
                let value = words.get(1).and_then(|word| word.value.clone());
                if let Some(name) = words.get(2).and_then(ArgumentWord::text).map(<[u8]>::to_vec) {
                    self.state.set(&name, value);
                }
            }
            _ => self.obscure(words.get(1..).unwrap_or_default()),
        }
    }

    /// The value that `file(GLOB name …)` stores. `words` are the arguments after the name:
    /// `[LIST_DIRECTORIES true|false] [RELATIVE dir] [CONFIGURE_DEPENDS] pattern…`
    fn globbed(&mut self, mut words: &[ArgumentWord]) -> MaybeText {
        let (mut with_dirs, mut base) = (true, None);
        loop {
            match words {
                [key, rest @ ..] if key.is("CONFIGURE_DEPENDS") => words = rest,
                [key, value, rest @ ..] if key.is("LIST_DIRECTORIES") => {
                    with_dirs = constant(value.text()?)?;
                    words = rest;
                }
                [key, dir, rest @ ..] if key.is("RELATIVE") => {
                    let dir = Path::new(OsStr::from_bytes(dir.text()?));
                    base = Some(without_dots(dir));
                    words = rest;
                }
                _ => break,
            }
        }
        let is_plain = |word: &ArgumentWord| word.text().is_some_and(|text| text.starts_with(b"/"));
        if !words.iter().all(is_plain) {
            return None;
        }
        let mut found = self.glob(words)?;
        if !with_dirs {
            found.retain(|path| {
                self.host.look(Path::new(OsStr::from_bytes(path))) != PathEntry::Directory
            });
        }
        let Some(base) = base else { return known(joined(&found)) };
        let inside = found.iter().map(|path| {
            let path = Path::new(OsStr::from_bytes(path)).strip_prefix(&base).ok()?;
            Some(bytes(path).to_vec())
        });
        let inside: Option<Vec<Vec<u8>>> = inside.collect();
        known(joined(&inside?))
    }

    /// The sorted paths that match one of `patterns`. `None` if the directory of a pattern has
    /// wildcards or cannot be listed, or if the last component of a pattern has `[`.
    fn glob(&mut self, patterns: &[ArgumentWord]) -> Option<Vec<Vec<u8>>> {
        let mut out: Vec<Vec<u8>> = Vec::new();
        for pattern in patterns.iter().filter_map(ArgumentWord::text) {
            let path = Path::new(OsStr::from_bytes(pattern));
            let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return None };
            let is_pattern = |bytes: &[u8]| bytes.iter().any(|b| b"*?[".contains(b));
            if is_pattern(bytes(dir)) || bytes(Path::new(name)).contains(&b'[') {
                return None;
            }
            let dir = without_dots(dir);
            let names = match self.host.look(&dir) {
                PathEntry::Directory => self.host.list(&dir)?,
                PathEntry::Absent | PathEntry::File => continue,
                PathEntry::Unknown => return None,
            };
            let fits = |one: &&Vec<u8>| matches_glob(name.as_bytes(), one);
            let found = names.iter().filter(fits);
            out.extend(found.map(|name| bytes(&dir.join(OsStr::from_bytes(name))).to_vec()));
        }
        out.sort();
        out.dedup();
        Some(out)
    }

    /// Evaluates `get_filename_component(name file mode)`. With `PROGRAM` and other unsupported
    /// modes, the variable becomes unknown.
    pub(super) fn filename_component(&mut self, words: &[ArgumentWord]) {
        let Some(name) = words.first().and_then(ArgumentWord::text).map(<[u8]>::to_vec) else {
            return;
        };
        let (file, part) = (words.get(1), words.get(2).and_then(ArgumentWord::text));
        let base =
            words.iter().position(|word| word.is("BASE_DIR")).and_then(|at| words.get(at + 1));
        let value = match (file.and_then(|word| word.value.clone()), part) {
            (Some(file), Some(part)) => {
                let part = part.to_vec();
                self.component(&file, &part, base.map(|base| base.value.clone()))
            }
            _ => None,
        };
        self.state.set(&name, value);
    }

    fn component(&mut self, file: &[u8], part: &[u8], base: Option<MaybeText>) -> MaybeText {
        let path = Path::new(OsStr::from_bytes(file));
        let last = file.rsplit(|b| *b == b'/').next().unwrap_or_default();
        let value = match part {
            b"PATH" | b"DIRECTORY" => {
                let at = file.iter().rposition(|b| *b == b'/');
                at.map_or(&b""[..], |at| if at == 0 { b"/" } else { &file[..at] }).to_vec()
            }
            b"NAME" => last.to_vec(),
            b"EXT" => {
                last.iter().position(|b| *b == b'.').map_or(&b""[..], |at| &last[at..]).to_vec()
            }
            b"NAME_WE" => {
                last.iter().position(|b| *b == b'.').map_or(last, |at| &last[..at]).to_vec()
            }
            b"LAST_EXT" => {
                last.iter().rposition(|b| *b == b'.').map_or(&b""[..], |at| &last[at..]).to_vec()
            }
            b"NAME_WLE" => {
                last.iter().rposition(|b| *b == b'.').map_or(last, |at| &last[..at]).to_vec()
            }
            b"ABSOLUTE" | b"REALPATH" => {
                let path = if path.is_absolute() {
                    path.to_path_buf()
                } else {
                    Path::new(OsStr::from_bytes(&base??)).join(path)
                };
                let path = path.is_absolute().then(|| without_dots(&path))?;
                let real = (part == b"REALPATH").then(|| self.host.real_path(&path)).flatten();
                bytes(&real.unwrap_or(path)).to_vec()
            }
            _ => return None,
        };
        known(value)
    }
}

/// True if a name matches a pattern with `*` and `?`.
fn matches_glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, from)) => {
                    (p, n) = (at + 1, from + 1);
                    star = Some((at, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::matches_glob;
    use crate::tree::without_dots;
    use std::path::Path;

    #[test]
    fn globs_and_paths() {
        assert!(matches_glob(b"foo*-*.cmake", b"fooTargets-release.cmake"));
        assert!(!matches_glob(b"foo?", b"foo"));
        assert_eq!(without_dots(Path::new("/a/./b/../c")), Path::new("/a/c"));
    }
}
