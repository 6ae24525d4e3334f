//! Follows the linker option `--whole-archive` through the values of a set.

/// Tracks if `--whole-archive` applies to the next archive.
#[derive(Default)]
pub(super) struct WholeArchive {
    pub(super) is_on: bool,
    /// The states that `--push-state` saved.
    saved: Vec<bool>,
}

impl WholeArchive {
    /// Updates the state if `value` is a linker option, also after `-Wl,` or `LINKER:`.
    pub(super) fn read(&mut self, value: &[u8]) {
        let prefixes: [&[u8]; 2] = [b"-Wl,", b"LINKER:"];
        let options = prefixes.into_iter().find_map(|prefix| value.strip_prefix(prefix));
        for option in options.unwrap_or(value).split(|b| *b == b',') {
            let Some(word) = option.strip_prefix(b"-") else { continue };
            match word.strip_prefix(b"-").unwrap_or(word) {
                b"whole-archive" => self.is_on = true,
                b"no-whole-archive" => self.is_on = false,
                b"push-state" => self.saved.push(self.is_on),
                b"pop-state" => self.is_on = self.saved.pop().unwrap_or(false),
                _ => {}
            }
        }
    }
}
