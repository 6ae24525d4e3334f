//! Parses the lines of `ld.so.conf` and of the files that it includes, as `parse_conf` in glibc's
//! `elf/ldconfig.c` reads them. This module does not open included files.

/// The content of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A directory, without the slashes at its end.
    Directory(&'a [u8]),
    /// `include`: glob patterns of more configuration files.
    Include(Vec<&'a [u8]>),
}

/// Reads one line. `None` for an empty line, a comment, a line with only slashes, and a `hwcap`
/// line, which newer releases of ldconfig ignore.
pub fn read(line: &[u8]) -> Option<Line<'_>> {
    // ldconfig reads the line as a C string, which ends at a NUL. A comment may begin anywhere.
    let line = line.split(|byte| matches!(byte, b'#' | 0)).next().unwrap_or_default();
    let line = line.trim_ascii();
    if let Some(patterns) = line.strip_prefix(b"include").filter(|rest| starts_blank(rest)) {
        let words = patterns.split(|byte| matches!(byte, b' ' | b'\t'));
        return Some(Line::Include(words.filter(|word| !word.is_empty()).collect()));
    }
    let is_hwcap = line.get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"hwcap"));
    if is_hwcap && starts_blank(&line[5..]) {
        return None;
    }
    let end = line.iter().rposition(|byte| *byte != b'/')?;
    Some(Line::Directory(&line[..=end]))
}

fn starts_blank(text: &[u8]) -> bool {
    matches!(text.first(), Some(b' ' | b'\t'))
}

#[cfg(test)]
mod tests {
    use super::{Line, read};

    #[test]
    fn lines() {
        assert_eq!(read(b" /opt/a// # b"), Some(Line::Directory(b"/opt/a")));
        assert_eq!(read(b"include a/*.conf\t/b"), Some(Line::Include(vec![b"a/*.conf", b"/b"])));
        assert_eq!(read(b"includes"), Some(Line::Directory(b"includes")));
        assert_eq!(read(b"HWCAP 0 nosegneg"), None);
        assert_eq!(read(b"hwcap"), Some(Line::Directory(b"hwcap")));
        assert_eq!(read(b" # /opt"), None);
        assert_eq!(read(b"///"), None);
        assert_eq!(read(b"/a\0/b"), Some(Line::Directory(b"/a")));
    }
}
