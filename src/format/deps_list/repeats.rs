//! Finds the commands in loops whose values change from round to round. A new name in such a
//! command would be added once for each round.

use crate::id::FastSet;

/// The variables whose values change in the open loops: the loop variables, and the variables that
/// commands in the loops make from changing ones.
#[derive(Default)]
pub(super) struct Repeats {
    names: FastSet<Vec<u8>>,
    /// For each open loop, the names that the loop added to `names`.
    open: Vec<Vec<Vec<u8>>>,
}

impl Repeats {
    /// True if the text refers to a variable that changes.
    pub(super) fn holds(&self, text: &[u8]) -> bool {
        !self.names.is_empty() && references(text).any(|name| self.has(name))
    }

    fn has(&self, name: &[u8]) -> bool {
        self.names.contains(name)
    }

    fn add(&mut self, name: &[u8]) {
        if let Some(own) = self.open.last_mut().filter(|_| !self.names.contains(name)) {
            own.push(name.to_vec());
            self.names.insert(name.to_vec());
        }
    }

    /// Notes the changing variables that a command adds. If the command refers to a changing
    /// variable, each word of the command may name a new changing variable. An argument is a pair:
    /// first its word, which is empty if the argument is quoted, then its text.
    pub(super) fn note(&mut self, command: &[u8], arguments: &[(&[u8], &[u8])]) {
        let words = || arguments.iter().map(|(word, _)| *word);
        match command {
            b"foreach" => {
                self.open.push(Vec::new());
                let is_end = |word: &&[u8]| !matches!(*word, b"IN" | b"RANGE");
                let is_long = words().any(|word| matches!(word, b"IN" | b"RANGE"));
                let names = words().take_while(is_end);
                names.take(if is_long { usize::MAX } else { 1 }).for_each(|name| self.add(name));
            }
            b"while" => {
                self.open.push(Vec::new());
                for (_, text) in arguments {
                    references(text).chain([*text]).for_each(|name| self.add(name));
                }
            }
            b"endforeach" | b"endwhile" => {
                for name in self.open.pop().unwrap_or_default() {
                    self.names.remove(&name);
                }
            }
            _ if self.open.is_empty() => {}
            _ => {
                // `list(GET NAME …)` reads NAME without a reference.
                let list = arguments.get(1).filter(|_| command == b"list");
                let reads = list.is_some_and(|(word, _)| self.has(word));
                if reads || arguments.iter().any(|(_, text)| self.holds(text)) {
                    words().filter(|word| !word.is_empty()).for_each(|word| self.add(word));
                }
            }
        }
    }
}

/// The names after each `${`, up to the next `}`.
fn references(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    memchr::memmem::find_iter(text, b"${").filter_map(|at| {
        let rest = &text[at + 2..];
        memchr::memchr(b'}', rest).map(|len| &rest[..len])
    })
}
