//! Messages and evidence of the findings of a comparison.

use super::names::LostName;
use super::sides::below;
use super::symbols::{Change, Changes};
use crate::finding::{Evidence, EvidenceKind};
use crate::order::Arrange as _;
use crate::report::model::{File, ReportFinding};
use crate::text::{last_part, show};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The phrases from which a message about removed or changed symbols is made.
pub(super) struct SymbolPhrases {
    pub(super) one: &'static str,
    pub(super) many: &'static str,
    pub(super) unused: &'static str,
    pub(super) used: &'static str,
}

pub(super) const GONE: SymbolPhrases = SymbolPhrases {
    one: "symbol gone",
    many: "symbols gone",
    unused: "none in use by the audited files",
    used: "in use",
};

pub(super) const CHANGED: SymbolPhrases = SymbolPhrases {
    one: "symbol changed",
    many: "symbols changed",
    unused: "no audited file depends on that",
    used: "with users",
};

/// Maximum number of symbols in the message of a finding.
const MOST_NAMED: usize = 3;
/// Maximum number of files in the evidence of one symbol.
const MOST_USERS: usize = 100;
/// The message about a lost name.
pub(super) fn message_of(lost: &LostName<'_>) -> String {
    let last = |file: &File| show(last_part(file.path.as_os_str().as_bytes()));
    if let Some(other) = lost.other {
        format!("now leads to {}, which has another soname", last(other))
    } else if lost.is_further() {
        format!("gone, a link to {}", last(lost.old))
    } else {
        format!("gone, the library is now {}", show(&below(lost.new)))
    }
}

/// A directory of the prefix in words; `below` is its path below the prefix.
pub(super) fn directory(below: &[u8]) -> String {
    if below.is_empty() {
        "the prefix".to_owned()
    } else {
        format!("the directory {}", show(below))
    }
}

/// Up to [`MOST_NAMED`] symbols as text, for outputs without evidence. Symbols that a file uses
/// come first.
pub(super) fn symbols_of(changes: &[&Change], users: &[Vec<PathBuf>]) -> String {
    let mut order: Vec<usize> = (0..changes.len()).collect();
    order.arrange_by_key(|at| users[*at].is_empty());
    let base = |path: &Path| show(last_part(path.as_os_str().as_bytes()));
    let words = |at: usize| {
        let by = match &users[at][..] {
            [] => String::new(),
            [user] => format!(" (used by {})", base(user)),
            [user, others @ ..] => format!(" (used by {} and {} more)", base(user), others.len()),
        };
        format!("{}{by}", show(&changes[at].name))
    };
    let mut words: Vec<String> = order.into_iter().take(MOST_NAMED).map(words).collect();
    if changes.len() > MOST_NAMED {
        words.push(format!("and {} more", changes.len() - MOST_NAMED));
    }
    words.join(", ")
}

/// The end of a message about a changed soname: the symbols of the library that are also gone or
/// changed. Empty if there are none.
pub(super) fn also_changed(changes: &Changes) -> String {
    let lists = [(&changes.gone, &GONE), (&changes.changed, &CHANGED)];
    let lists = lists.into_iter().filter(|(list, _)| !list.is_empty()).map(|(list, words)| {
        let noun = if list.len() == 1 { words.one } else { words.many };
        let (list, users) = (list.iter().collect::<Vec<_>>(), vec![Vec::new(); list.len()]);
        format!("; {} {noun}: {}", list.len(), symbols_of(&list, &users))
    });
    lists.collect()
}

/// Removes the symbols that [`symbols_of`] or [`also_changed`] put at the end of a message. The
/// human-readable output lists the symbols below the message.
pub(super) fn without_symbols(finding: &mut ReportFinding) {
    let end = match &*finding.rule {
        "removed-symbol" | "changed-symbol" if finding.detail.is_none() => ": ",
        "changed-soname" => "; ",
        _ => return,
    };
    if let Some((text, _)) = finding.message.split_once(end) {
        finding.message = text.to_owned();
    }
}

/// Evidence for a file that uses a library.
pub(super) fn user(path: PathBuf) -> Evidence {
    Evidence::at(EvidenceKind::Change, Arc::from(path))
}

/// Evidence for a symbol: one piece for each of the first [`MOST_USERS`] files that use the
/// symbol. If no file uses the symbol, one piece without a file.
pub(super) fn evidence(change: &Change, users: &[PathBuf]) -> Vec<Evidence> {
    let piece = |user: Option<&PathBuf>| Evidence {
        symbol: Some(change.name.clone()),
        version: change.version.clone(),
        reason: Some(change.reason.clone()),
        path: user.map(|path| Arc::from(&**path)),
        ..Evidence::new(EvidenceKind::Change)
    };
    match users {
        [] => vec![piece(None)],
        users => users.iter().take(MOST_USERS).map(|user| piece(Some(user))).collect(),
    }
}
