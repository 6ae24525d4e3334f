//! Releases of glibc and musl, as loaders and libcs state them. The rules of a loader depend on its
//! release.

use std::fmt;

/// A release of glibc, such as 2.36.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct GlibcVersion {
    /// The first number, 2 since 1997.
    pub major: u16,
    /// The second number, which grows twice a year.
    pub minor: u16,
}

impl GlibcVersion {
    /// The release `major.minor`.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    /// The release at the start of a text such as `2.36.9000`: its first two numbers. `None` if the
    /// text does not begin with two numbers.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut numbers = text.split(|b| !b.is_ascii_digit());
        let mut number = || std::str::from_utf8(numbers.next()?).ok()?.parse().ok();
        Some(Self::new(number()?, number()?))
    }
}

impl fmt::Display for GlibcVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A release of musl, such as 1.2.3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct MuslVersion {
    /// The first number: 1 in 1.2.3.
    pub major: u16,
    /// The second number: 2 in 1.2.3.
    pub minor: u16,
    /// The third number: 3 in 1.2.3.
    pub patch: u16,
}

impl MuslVersion {
    /// The release `major.minor.patch`.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// Parses a text that is only a release, such as `1.2.3`. `None` for another text.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        if text.len() >= 16 || !text.last().is_some_and(u8::is_ascii_digit) {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?;
        let mut numbers = text.split('.').map(|number| number.parse().ok());
        let release = Self::new(numbers.next()??, numbers.next()??, numbers.next()??);
        numbers.next().is_none().then_some(release)
    }
}

#[cfg(test)]
mod tests {
    use super::{GlibcVersion, MuslVersion};

    #[test]
    fn releases_of_glibc() {
        assert_eq!(GlibcVersion::parse(b"2.36.9000"), Some(GlibcVersion::new(2, 36)));
        assert_eq!(GlibcVersion::parse(b"2.4"), Some(GlibcVersion::new(2, 4)));
        assert!(GlibcVersion::new(2, 4) < GlibcVersion::new(2, 36));
        assert_eq!(GlibcVersion::new(2, 36).to_string(), "2.36");
        for text in [&b""[..], b"2", b"PRIVATE", b"2.", b"2.70000"] {
            assert_eq!(GlibcVersion::parse(text), None);
        }
    }

    #[test]
    fn releases_of_musl() {
        assert_eq!(MuslVersion::parse(b"1.2.3"), Some(MuslVersion::new(1, 2, 3)));
        for text in [&b"1.2"[..], b"1.2.3.4", b"1.2.x", b"1.2.70000"] {
            assert_eq!(MuslVersion::parse(text), None);
        }
    }
}
