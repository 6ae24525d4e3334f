//! Suggestions from `[[provider]]` entries of policies: the archive that defines an undefined
//! symbol, and the list to which this archive is added. Suggestions are never verified, and only
//! findings without another fix get them.

use crate::finding::Findings;
use crate::finding::{Fix, FixKind, Proof};
use crate::order::Arrange as _;
use crate::plan::Plan;
use crate::policy::{ProviderEntry, source_in_words};
use std::path::Path;
use std::sync::Arc;

/// Attaches suggestions to undefined symbols that have no fix yet.
pub(super) fn attach(plan: &Plan, findings: &mut Findings) {
    let open = findings.iter_mut().filter(|f| f.rule == *"undefined-symbol" && f.fix.is_empty());
    for finding in open {
        let Some(symbol) = finding.symbol.as_deref() else { continue };
        // An entry with a list takes precedence over one without, then a later entry over an
        // earlier one.
        let below = &finding.file.path;
        let known = plan.policy.providers.iter().rev().filter(|known| known.is_about(below));
        let mut found: Vec<Fix> = known.filter_map(|known| suggestion(known, symbol)).collect();
        found.arrange_by_key(|fix| fix.list.is_none());
        finding.fix.extend(found.into_iter().next());
    }
}

fn suggestion(provider: &ProviderEntry, symbol: &[u8]) -> Option<Fix> {
    let archive = provider.archive_of(symbol)?;
    let source = source_in_words(&provider.origin.source);
    Some(Fix {
        intent: if provider.list.is_some() { FixKind::AddToList } else { FixKind::LinkArchive },
        list: provider.list.as_ref().map(|list| Arc::from(Path::new(list))),
        set: None,
        entry: Some(archive.into_bytes()),
        from: None,
        file: None,
        proof: Proof::Unknown(format!("no candidate archive; {source} names it").into()),
    })
}
