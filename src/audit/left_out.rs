//! Files with more needed libraries or undefined symbols than the audit checks. The rule
//! `undecided` reports these files. A baseline entry about one of these files is never stale,
//! unless the rule of the entry is in the group `input`.

use super::Audit;
use crate::bind::MOST_REPORTS;
use crate::id::FileId;
use std::collections::BTreeMap;

/// A file with more needed libraries, or more undefined symbols, than the audit checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The file that is checked only in part.
    pub file: FileId,
    /// The items that are checked only in part, as text for the report: `needed libraries` or
    /// `unbound symbols`.
    pub what: &'static str,
    /// Number of needed libraries or undefined symbols that the file has.
    pub all: usize,
    /// Number of needed libraries or undefined symbols that the audit checks.
    pub judged: usize,
}

impl Audit {
    /// The files that are checked only in part: first those with too many needed libraries, then
    /// those with too many undefined symbols.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let needs = self.corpus.files.entries().filter_map(|(file, facts)| {
            let object = facts.object().filter(|object| object.needs_left_out > 0)?;
            let judged = object.needs.len();
            let all = judged + object.needs_left_out;
            Some(LeftOut { file, what: "needed libraries", all, judged })
        });
        // The number of undefined symbols may differ between entry points; the largest number is
        // reported.
        let mut symbols: BTreeMap<FileId, usize> = BTreeMap::new();
        for (closure, bound) in self.closures.roots.iter().zip(&self.bindings) {
            for (module, left_out) in &bound.left_out {
                if let Some(file) = closure.module(*module).file {
                    let most = symbols.entry(file).or_default();
                    *most = (*most).max(*left_out);
                }
            }
        }
        let symbols = symbols.into_iter().map(|(file, left_out)| LeftOut {
            file,
            what: "unbound symbols",
            all: left_out + MOST_REPORTS,
            judged: MOST_REPORTS,
        });
        needs.chain(symbols).collect()
    }
}
