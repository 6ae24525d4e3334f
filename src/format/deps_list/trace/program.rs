//! The commands of a file, with the ends of their blocks and the places of new names.

use super::super::Set;
use crate::format::cmake::{CommandInvocation, commands};
use crate::id::FastMap;

/// Commands that begin a block.
const BLOCKS: [&[u8]; 6] = [b"if", b"foreach", b"while", b"function", b"macro", b"block"];

/// One command.
pub(in super::super) struct Step {
    /// The command's name in lower case.
    pub(in super::super) name: Vec<u8>,
    pub(in super::super) call: CommandInvocation,
    /// For the start of a block or an arm: the index of the next arm or of the end. For other
    /// commands: their own index.
    pub(in super::super) next: usize,
    /// The sets in the command's arguments: each set's number, the index of its first argument, and
    /// the index after its last one.
    pub(in super::super) sets: Vec<(usize, usize, usize)>,
}

/// All commands of a file.
#[derive(Default)]
pub(in super::super) struct Program {
    pub(in super::super) steps: Vec<Step>,
    /// The functions and macros, by name in lower case, as indices into `steps`. `None` if several
    /// have the same name.
    pub(in super::super) functions: FastMap<Vec<u8>, Option<usize>>,
    /// The names of the functions and macros in lower case, by the indices of their first commands.
    pub(super) names: FastMap<usize, Vec<u8>>,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} commands", self.steps.len())
    }
}

impl Program {
    /// Reads the commands of `text`, which must have no syntax errors. `sets` are the sets of the
    /// text, in the file's order.
    pub(in super::super) fn new(text: &[u8], sets: &[Set]) -> Self {
        let mut out = Self::default();
        let (mut open, mut sets): (Vec<usize>, _) = (Vec::new(), sets.iter().peekable());
        for call in commands(text).map_while(Result::ok) {
            let at = out.steps.len();
            let name = text.get(call.name.clone()).unwrap_or_default().to_ascii_lowercase();
            let mut own = Vec::new();
            while let Some(set) = sets.next_if(|set| set.body.start <= call.end) {
                let first = |offset| {
                    let before = call.arguments.iter().filter(|word| word.span.start < offset);
                    before.count()
                };
                own.push((set.number, first(set.body.start), first(set.body.end)));
            }
            let is_arm = matches!(&*name, b"else" | b"elseif");
            let is_end = name.strip_prefix(b"end").is_some_and(|word| BLOCKS.contains(&word));
            if (is_arm || is_end)
                && let Some(begin) = open.pop().and_then(|begin| out.steps.get_mut(begin))
            {
                begin.next = at;
            }
            if is_arm || BLOCKS.contains(&&*name) {
                open.push(at);
            }
            if let (b"function" | b"macro", [word, ..]) = (&*name, &*call.arguments) {
                let word = text.get(word.inside.clone()).unwrap_or_default();
                let is_new = !out.functions.contains_key(&word.to_ascii_lowercase());
                out.functions.insert(word.to_ascii_lowercase(), is_new.then_some(at));
                out.names.insert(at, word.to_ascii_lowercase());
            }
            out.steps.push(Step { name, call, next: at, sets: own });
        }
        out
    }
}
