//! Finds the command because of which a file has no list of archives, for messages.

use super::DepsList;
use super::spelling::Spelling;
use super::trace::{Program, Step};
use crate::text::show;

/// Commands whose arguments may be names of archives, but never lists for a link.
const OTHERS: [&[u8]; 11] = [
    b"message",
    b"project",
    b"install",
    b"export",
    b"add_dependencies",
    b"add_library",
    b"add_executable",
    b"function",
    b"macro",
    b"if",
    b"elseif",
];

impl DepsList {
    /// A message about the first command that names an archive, although no list is read from it.
    /// Else about the first command whose values are not followed. `None` if there is neither.
    pub fn unread(&self, is_archive: &dyn Fn(&[u8]) -> bool) -> Option<String> {
        let program = self.program();
        let named = program.steps.iter().enumerate().find_map(|(at, step)| {
            let is_other = OTHERS.contains(&&*step.name) || step.name.starts_with(b"end");
            let name = self.words(step).flat_map(parts).filter(|_| !is_other);
            Some((at, step, name.into_iter().find(|name| is_archive(name))?))
        });
        let Some((at, step, name)) = named else {
            let step = program.steps.iter().find(|step| self.makes_unknown(step))?;
            return Some(format!("{} is not followed", self.place(step)));
        };
        let (place, name) = (self.place(step), show(name));
        let why = match self.obstacle(program, at) {
            Some(why) => format!(": {} is not followed", self.place(why)),
            None if self.makes_unknown(step) => ", but is not followed".to_owned(),
            None => ", but is not read as a list of names".to_owned(),
        };
        Some(format!("{place} names {name}{why}"))
    }

    /// The command that is not followed, although it uses the values of the command `at`: in the
    /// called function, or below with the variable that the command sets.
    fn obstacle<'p>(&self, program: &'p Program, at: usize) -> Option<&'p Step> {
        let step = program.steps.get(at)?;
        if let Some(Some(begin)) = program.functions.get(&step.name) {
            let end = program.steps.get(*begin)?.next;
            let body = program.steps.get(begin + 1..end)?;
            return body.iter().find(|inner| inner.name == step.name || self.makes_unknown(inner));
        }
        let mut words = self.words(step);
        let name = if step.name == b"list" { words.nth(1) } else { words.next() }?;
        let reference = [b"${", name, b"}"].concat();
        let uses = |later: &&Step| {
            let is = |word: &[u8]| word == name || memchr::memmem::find(word, &reference).is_some();
            self.words(later).any(is)
        };
        let is_call = |later: &Step| program.functions.contains_key(&later.name);
        let mut later = program.steps.get(at + 1..)?.iter().filter(uses);
        later.find(|later| self.makes_unknown(later) || is_call(later))
    }

    /// True for a command that makes values from others in a way that is not followed.
    fn makes_unknown(&self, step: &Step) -> bool {
        let mut words = self.words(step);
        match &*step.name {
            b"separate_arguments"
            | b"cmake_language"
            | b"while"
            | b"get_target_property"
            | b"get_directory_property"
            | b"get_cmake_property"
            | b"file"
            | b"execute_process" => true,
            b"string" => words.next() != Some(b"APPEND"),
            b"list" => match words.next() {
                Some(b"TRANSFORM" | b"JOIN" | b"POP_BACK" | b"SUBLIST") => true,
                Some(b"GET") => words.any(|word| word.starts_with(b"$")),
                _ => false,
            },
            _ => false,
        }
    }

    fn place(&self, step: &Step) -> String {
        let name = self.text.get(step.call.name.clone()).unwrap_or_default();
        let has_action = matches!(&*step.name, b"list" | b"string" | b"file" | b"cmake_language");
        let action = self.words(step).next().filter(|_| has_action).unwrap_or_default();
        format!("{}({}) on line {}", show(name), show(action), step.call.line)
    }
}

/// The names in an argument, which may be a list or a text with blanks.
fn parts(word: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = word.split(|b| *b == b';' || b.is_ascii_whitespace());
    words.filter_map(|word| Spelling::read(word).map(|(name, _)| name))
}
