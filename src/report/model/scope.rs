//! The lookup scopes of entry points with undefined symbols: the files in which the loader
//! searched.

use super::ReportFinding;
use crate::audit::Audit;
use crate::id::{FastMap, FastSet, RootId};
use crate::order::Arrange as _;
use crate::text::raw;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// The files in which the symbols of one entry point are looked up.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SearchedScope {
    /// The path of the entry point.
    #[serde(with = "raw")]
    pub root: Arc<Path>,
    /// The files, in search order.
    pub files: Vec<ScopeFile>,
}

/// The path of a file in a scope.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScopeFile(#[serde(with = "raw")] pub Arc<Path>);

/// The scopes of entry points with findings of `undefined-symbol`, by path.
pub(super) fn scopes(audit: &Audit, findings: &[ReportFinding]) -> Vec<SearchedScope> {
    let undefined = findings.iter().filter(|finding| finding.rule == "undefined-symbol");
    let named: FastSet<&Path> = undefined.filter_map(|finding| finding.root.as_deref()).collect();
    let mut roots: FastMap<&Arc<Path>, RootId> = FastMap::default();
    for root in audit.diagnosis.undefined.iter().filter_map(|undefined| undefined.roots.first()) {
        let path = &audit.corpus.files[audit.closures.roots[*root].root.file].path;
        if named.contains(&**path) {
            roots.entry(path).or_insert(*root);
        }
    }
    let files = |root: RootId| {
        let closure = &audit.closures.roots[root];
        let in_scope = closure.in_scope();
        in_scope.map(|(_, file)| ScopeFile(Arc::clone(&audit.corpus.files[file].path))).collect()
    };
    let scope = |(path, root): (&Arc<Path>, RootId)| SearchedScope {
        root: Arc::clone(path),
        files: files(root),
    };
    let mut out: Vec<SearchedScope> = roots.into_iter().map(scope).collect();
    out.arrange_by(|a, b| a.root.as_os_str().cmp(b.root.as_os_str()));
    out
}
