//! The part of a symbol's page about undefined references: what `check` reports, near misses, the
//! files in which the loader searched, and the next steps.

use super::human::WhyPage;
use super::symbol::{SymbolAnswer, SymbolRequester};
use super::undefined::{CheckResult, is_about};
use crate::demangle::demangle;
use crate::diagnosis::ReferenceState;
use crate::id::FileId;
use crate::report::layout::{name, some};
use crate::report::model::ReportFinding;
use crate::rules::{self, Rule};
use crate::text::{show, show_path};
use crate::views::{Subject, count};
use std::io;
use std::path::Path;

/// Maximum number of files of a scope that are listed without `-v`.
const MOST_FILES: usize = 4;
/// Maximum number of scopes that are shown without `-v`.
const MOST_SCOPES: usize = 1;
/// Maximum number of causes that are shown without `-v`.
const MOST_CAUSES: usize = 3;

impl WhyPage<'_> {
    /// The state of an undefined reference, in words.
    pub(super) fn state(&self, requester: &SymbolRequester, state: ReferenceState) -> String {
        let audit = self.audit;
        match state {
            ReferenceState::Undefined => {
                match CheckResult::of(requester, audit, self.subject.report) {
                    CheckResult::Reported => "reports undefined-symbol".to_owned(),
                    CheckResult::Waived => {
                        "silent: the finding undefined-symbol is waived".to_owned()
                    }
                    CheckResult::Allowed => {
                        "silent: the rule undefined-symbol is allowed".to_owned()
                    }
                }
            }
            ReferenceState::Explained(from, library) => format!(
                "explained by {}, which {} needs and which is not found",
                name(&show(audit.text(library))),
                name(&self.path(from))
            ),
            ReferenceState::Assumed(host) => {
                let host = self.subject.plan.policy.hosts.get(host);
                let host = host.map(|host| show(host.name.as_bytes())).unwrap_or_default();
                format!("assumed: the host program {} defines it", name(&host))
            }
            ReferenceState::Inferred(program) => format!(
                "assumed: the program {} is inferred to load the file and defines it",
                name(&self.path(program))
            ),
            ReferenceState::Provided(library) => format!(
                "assumed: the system provides {}, which may define it",
                name(&show(audit.text(library)))
            ),
        }
    }

    /// Writes the definitions that nearly fit a reference.
    pub(super) fn near_misses(&mut self, requester: &SymbolRequester) -> io::Result<()> {
        for near in &requester.near {
            let raw = show(&near.symbol);
            let symbol = match demangle(&near.symbol) {
                Some(text) => format!("{text} {}", name(&format!("[{raw}]"))),
                None => name(&raw),
            };
            let version = near.version.as_deref().map(|v| format!(", version {}", show(v)));
            let (version, path) = (version.unwrap_or_default(), name(&self.path(near.file)));
            let text = format!("{symbol}{version} in {path}: {}", near.reason);
            self.detail("near", &text)?;
        }
        Ok(())
    }

    /// Writes the scopes in which the loader searched for undefined references.
    pub(super) fn searched(&mut self, symbol: &SymbolAnswer) -> io::Result<()> {
        let shown_above =
            |r: &SymbolRequester| r.bound.iter().any(|bound| bound.searched.is_some());
        if symbol.searched.is_empty() || symbol.requesters.iter().any(shown_above) {
            return Ok(());
        }
        self.heading("searched for it")?;
        let most = if self.style.verbose { usize::MAX } else { MOST_SCOPES };
        for scope in symbol.searched.iter().take(most) {
            let root = self.roots(scope.root, 1);
            self.detail("under", &name(&root))?;
            self.searched_files("", &scope.files)?;
        }
        match symbol.searched.len().saturating_sub(most) {
            0 => Ok(()),
            hidden => {
                let scopes = count(hidden, "more scope", "more scopes");
                self.detail("", &format!("… and {scopes} (-v shows all)"))
            }
        }
    }

    /// Writes the files of a scope in search order.
    pub(super) fn searched_files(&mut self, label: &str, files: &[FileId]) -> io::Result<()> {
        let verbose = self.style.verbose;
        let shown = |file: &FileId| {
            let path = &*self.audit.corpus.files[*file].path;
            show_path(if verbose { path } else { path.file_name().map_or(path, Path::new) })
        };
        let names: Vec<String> = files.iter().map(shown).collect();
        let number = count(names.len(), "file", "files");
        let names = some(&names, if verbose { usize::MAX } else { MOST_FILES });
        self.detail(label, &format!("{number}: {names}"))
    }

    /// Writes the candidates and next steps that `check` reports for the undefined references of
    /// the answer.
    pub(super) fn steps(&mut self, symbol: &SymbolAnswer) -> io::Result<()> {
        let audit = self.audit;
        let requesters = || symbol.requesters.iter();
        let bounds = requesters().flat_map(|requester| &requester.bound);
        let missing: Vec<(&[u8], &Path)> = bounds
            .filter_map(|bound| match bound.state? {
                ReferenceState::Explained(from, library) => {
                    Some((audit.text(library), &*audit.corpus.files[from].path))
                }
                _ => None,
            })
            .collect();
        let explains = |finding: &ReportFinding| {
            let library = finding.library.as_deref();
            let mut missing = missing.iter();
            rules::find(&finding.rule).is_some_and(Rule::is_explaining)
                && missing
                    .any(|(name, path)| library == Some(*name) && finding.full_path() == **path)
        };
        let wanted = |finding: &ReportFinding| {
            requesters().any(|requester| is_about(finding, requester, audit)) || explains(finding)
        };
        if !self.subject.report.findings.iter().any(wanted) {
            return Ok(());
        }
        self.heading("reported by check")?;
        let most = if self.style.verbose { usize::MAX } else { MOST_CAUSES };
        let Subject { report, paths, .. } = self.subject;
        crate::report::steps((report, paths), &wanted, most, self.style, self.out)
    }
}
