//! On/off options of a link line. `link_line` calls this module.

use crate::id::{FastMap, FastSet};
use std::ffi::OsString;

/// On/off options. The last occurrence of an option or of its opposite applies. Linkers accept a
/// repeated option; clap does not.
pub(super) const SWITCHES: &[&str] =
    &["allow-shlib-undefined", "export-dynamic", "gc-sections", "pie", "shared"];

/// The positions of [`SWITCHES`] in a line, as indices of words.
#[derive(Default)]
pub(super) struct Switches {
    all: FastSet<usize>,
    /// The last position of each switch, unless its opposite follows.
    last: FastMap<&'static str, usize>,
}

impl Switches {
    pub(super) fn add(&mut self, switch: &'static str, place: usize) {
        self.all.insert(place);
        self.last.insert(switch, place);
    }

    pub(super) fn end(&mut self, switch: &str) {
        self.last.remove(switch);
    }

    /// The words without the switches that a later option repeats or ends.
    pub(super) fn keep_last(mut self, words: Vec<OsString>) -> Vec<OsString> {
        for place in self.last.values() {
            self.all.remove(place);
        }
        let words = words.into_iter().enumerate();
        words.filter(|(place, _)| !self.all.contains(place)).map(|(_, word)| word).collect()
    }
}
