//! Suggestions out of what policies know (`[[provider]]`): which archive defines a symbol, and on
//! which list it belongs, where no archive is at hand to look into. They prove nothing.

use crate::finding::Findings;
use crate::finding::{Fix, Intent, Proof};
use crate::plan::Plan;
use crate::policy::Provider;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

/// What stands for the same text in a symbol and in its archive's name.
const HOLE: &str = "{T}";

/// Attaches suggestions to undefined symbols that have no fix yet.
pub(super) fn attach(plan: &Plan, findings: &mut Findings) {
    let open = findings.iter_mut().filter(|f| f.rule == *"undefined-symbol" && f.fix.is_empty());
    for finding in open {
        let Some(symbol) = finding.symbol.as_deref() else { continue };
        // What names a list says more, and a policy that was given more than the default.
        let below = finding.file.path.as_os_str().as_bytes();
        let is_about =
            |known: &&Provider| known.path.as_ref().is_none_or(|path| path.matches(below));
        let known = plan.policy.providers.iter().rev().filter(is_about);
        let mut found: Vec<Fix> = known.filter_map(|known| suggestion(known, symbol)).collect();
        found.sort_by_key(|fix| fix.list.is_none());
        finding.fix.extend(found.into_iter().next());
    }
}

fn suggestion(provider: &Provider, symbol: &[u8]) -> Option<Fix> {
    let part = filling(&provider.symbol, std::str::from_utf8(symbol).ok()?)?;
    let source = &provider.origin.source;
    Some(Fix {
        intent: if provider.list.is_some() { Intent::AddToList } else { Intent::LinkArchive },
        list: provider.list.as_ref().map(|list| Arc::from(Path::new(list))),
        set: None,
        entry: Some(provider.archive.replace(HOLE, part).into_bytes()),
        proof: Proof::Unknown(format!("no archive is at hand; {source} says so").into()),
    })
}

/// The text that fills every hole of `pattern` so that it is `name`; empty if there is no hole.
fn filling<'n>(pattern: &str, name: &'n str) -> Option<&'n str> {
    let Some((before, after)) = pattern.split_once(HOLE) else {
        return (pattern == name).then_some("");
    };
    let rest = name.strip_prefix(before)?;
    let holes = 1 + after.matches(HOLE).count();
    let text = after.len() - (holes - 1) * HOLE.len();
    let len = rest.len().checked_sub(text)? / holes;
    let part = rest.get(..len).filter(|part| !part.is_empty())?;
    (pattern.replace(HOLE, part) == name).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::filling;

    #[test]
    fn holes_are_filled_alike() {
        assert_eq!(filling("LLVMInitialize{T}Target", "LLVMInitializeX86Target"), Some("X86"));
        assert_eq!(filling("LLVMInitialize{T}Target", "LLVMInitializeX86TargetMC"), None);
        assert_eq!(filling("LLVMInitialize{T}Target", "LLVMInitializeTarget"), None);
        assert_eq!(filling("{T}_{T}", "ab_ab"), Some("ab"));
        assert_eq!(filling("{T}_{T}", "ab_ac"), None);
        assert_eq!(filling("exact", "exact"), Some(""));
    }
}
