//! A CMake file as a list of commands with the ends of their blocks, ready to be evaluated any
//! number of times.

use crate::format::cmake::{Argument, commands};

/// A CMake file whose commands can be evaluated.
#[derive(Debug)]
pub struct Parsed {
    text: Vec<u8>,
    /// The commands of the file, in order.
    pub(super) commands: Vec<ParsedCommand>,
    /// A description of the first defect; `None` if there is none. A file with a defect is not
    /// evaluated.
    pub defect: Option<&'static str>,
}

/// A command of a file, with the end of its block.
#[derive(Debug)]
pub(super) struct ParsedCommand {
    /// The name of the command in lower case.
    pub(super) name: String,
    pub(super) arguments: Vec<Argument>,
    pub(super) line: u32,
    /// For a command that begins a block or a branch, the index of the command that ends it. 0 for
    /// other commands.
    pub(super) end: usize,
}

/// Maximum number of commands in one file.
const MOST_COMMANDS: usize = 200_000;

impl Parsed {
    /// Parses a text. A file with a defect is parsed up to the defect, but never evaluated.
    pub fn new(text: Vec<u8>) -> Self {
        let (mut list, mut defect) = (Vec::new(), None);
        for command in commands(&text) {
            match command {
                Ok(_) if list.len() == MOST_COMMANDS => {
                    defect = Some("has too many commands");
                    break;
                }
                Ok(command) => {
                    let name = text.get(command.name.clone()).unwrap_or_default();
                    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
                    let (arguments, line) = (command.arguments, command.line);
                    list.push(ParsedCommand { name, arguments, line, end: 0 });
                }
                Err(error) => {
                    defect = Some(error.reason);
                    break;
                }
            }
        }
        let ends = pair(&mut list);
        Self { text, commands: list, defect: defect.or(ends) }
    }

    /// True if the text contains `part`.
    pub fn mentions(&self, part: &[u8]) -> bool {
        memchr::memmem::find(&self.text, part).is_some()
    }

    /// The bytes of an argument, without its quotes or brackets.
    pub(super) fn text(&self, argument: &Argument) -> &[u8] {
        self.text.get(argument.inside.clone()).unwrap_or_default()
    }
}

/// Finds the end of each block and branch. Returns a defect if a block has no end, or an end has no
/// block.
fn pair(list: &mut [ParsedCommand]) -> Option<&'static str> {
    let mut open: Vec<usize> = Vec::new();
    for at in 0..list.len() {
        let closes: &[&str] = match list[at].name.as_str() {
            "elseif" | "else" | "endif" => &["if", "elseif", "else"],
            "endforeach" => &["foreach"],
            "endwhile" => &["while"],
            "endfunction" => &["function"],
            "endmacro" => &["macro"],
            "endblock" => &["block"],
            _ => &[],
        };
        if !closes.is_empty() {
            let begin = open.pop().filter(|begin| closes.contains(&list[*begin].name.as_str()));
            let Some(begin) = begin else { return Some("ends a block that does not begin") };
            list[begin].end = at;
        }
        let begins = ["if", "elseif", "else", "foreach", "while", "function", "macro", "block"];
        if begins.contains(&list[at].name.as_str()) {
            open.push(at);
        }
    }
    (!open.is_empty()).then_some("has a block without an end")
}
