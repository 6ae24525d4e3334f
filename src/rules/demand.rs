//! Code that rules about policies share: the location of a policy entry, and the files that the
//! entry selects. This module makes no findings.

use super::Query;
use crate::facts::{Content, FileFacts};
use crate::finding::{CauseHint, Evidence, EvidenceKind, Finding};
use crate::format::elf::{Object, machine};
use crate::id::{FastMap, FileId, ModuleId, RootId};
use crate::package::Located;
use crate::policy::{Arch, Origin, Pattern, SymbolAt};
use crate::text::show;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The architecture of an object, such as `x86_64`. `None` if platform tags such as
/// `manylinux_2_28_x86_64` have no name for the object's machine.
pub(super) fn arch(object: &Object) -> Option<Arch> {
    Arch::of_machine(machine::of(object.header.target())?.name)
}

/// `FILE:LINE` of a policy entry. Without a line number, as for a built-in platform, only the name
/// of the policy.
pub(super) fn place(origin: &Origin) -> String {
    let source = show(origin.source.as_bytes());
    if origin.line == 0 { source } else { format!("{source}:{}", origin.line) }
}

/// `: REASON` if the policy entry gives a reason; otherwise empty.
pub(super) fn because(reason: Option<&str>) -> String {
    reason.map(|reason| format!(": {}", show(reason.as_bytes()))).unwrap_or_default()
}

/// The location of a finding about a policy entry: the file of the policy.
pub(super) fn policy_file(origin: &Origin) -> Arc<Located> {
    Located { prefix: None, path: PathBuf::from(&*origin.source) }.into()
}

/// A directory given on the command line, and its prefix.
pub(super) struct GivenDirectory<'a> {
    /// The path of the directory, with links resolved.
    pub(super) dir: &'a Path,
    /// The prefix that contains the directory. Policies give paths relative to it.
    pub(super) prefix: PathBuf,
    /// The directory relative to `prefix`; empty if the whole prefix was walked.
    base: PathBuf,
}

impl GivenDirectory<'_> {
    /// The location of an absent file, for a finding: the text of `pattern`, as a path below the
    /// prefix.
    pub(super) fn absent(&self, pattern: &Pattern) -> Arc<Located> {
        Located { prefix: Some(self.prefix.clone()), path: pattern.text().into() }.into()
    }

    /// True if all files that `pattern` can match are below the directory.
    pub(super) fn holds(&self, pattern: &Pattern) -> bool {
        let is_plain = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
        let text = pattern.text();
        let dir = text.rsplit_once('/').map_or("", |(dir, _)| dir);
        let head: PathBuf = dir.split('/').take_while(is_plain).collect();
        head.starts_with(&self.base)
    }
}

impl<'a> Query<'a> {
    /// The directories given on the command line.
    pub(super) fn given(&self) -> Vec<GivenDirectory<'a>> {
        let prefixes = &self.prefixes();
        let given = |dir: &'a PathBuf| {
            let inside = prefixes.locate(&dir.join("x"));
            let base = inside.path.parent().map(Path::to_path_buf).unwrap_or_default();
            GivenDirectory { dir, prefix: inside.prefix.unwrap_or_else(|| dir.clone()), base }
        };
        prefixes.dirs().iter().map(given).collect()
    }

    /// All paths of an audited file, including those through links to its directories.
    pub(super) fn names(&self, facts: &FileFacts) -> Vec<PathBuf> {
        let names = facts.names.iter().map(|name| name.path.as_path());
        std::iter::once(&*facts.path).chain(names).flat_map(|name| self.aliases(name)).collect()
    }

    /// `path`, and the same path through each link to one of its directories.
    pub(super) fn aliases(&self, path: &Path) -> Vec<PathBuf> {
        let linked = self.linked_directories().iter().filter_map(|(link, real)| {
            let rest = path.strip_prefix(real).ok()?;
            Some(link.join(rest))
        });
        std::iter::once(path.to_path_buf()).chain(linked).collect()
    }

    /// True if `pattern` matches `path` relative to its prefix.
    pub(super) fn lies_at(&self, path: &Path, pattern: &Pattern) -> bool {
        pattern.matches(self.prefixes().locate(path).path.as_os_str().as_bytes())
    }

    /// Audited files that a policy entry about symbols selects. Each file comes with all its paths
    /// that the entry's `path` matches. An entry without `path` selects all dynamic objects.
    pub(super) fn meant(&self, at: &SymbolAt) -> Vec<(FileId, Vec<PathBuf>)> {
        let files = self.files().filter(|(_, facts)| facts.audited);
        let named = |(file, facts)| {
            let mut names = self.names(facts);
            if let Some(pattern) = &at.path {
                names.retain(|name| self.lies_at(name, pattern));
            } else if !facts.object().is_some_and(Object::is_dynamic) {
                names.clear();
            }
            (!names.is_empty()).then_some((file, names))
        };
        files.filter_map(named).collect()
    }

    /// For each loaded file: the entry points that load it, and the module of the file under each
    /// entry point.
    pub(super) fn loaders(&self) -> FastMap<FileId, Vec<(RootId, ModuleId)>> {
        let mut out: FastMap<FileId, Vec<(RootId, ModuleId)>> = FastMap::default();
        for (root, closure) in self.entry_points() {
            for (module, file) in closure.found() {
                out.entry(file).or_default().push((root, module));
            }
        }
        out
    }
}

/// Adds the policy entry to a finding, as evidence and as cause. `key` is the key and name of the
/// entry, without file and line, so that `key` is the same in every copy of the policy.
pub(super) fn by_policy(finding: &mut Finding, key: String, origin: &Origin) {
    let reason = Some(format!("by the policy {}", place(origin)));
    finding.evidence.push(Evidence { reason, ..Evidence::new(EvidenceKind::Reference) });
    finding.cause = Some(CauseHint::PolicyEntry { key, origin: origin.clone() });
}

/// The text that identifies a policy entry about a symbol. `list` is the key of the list that has
/// the entry, such as `forbid.symbols`.
pub(super) fn symbol_key(list: &str, entry: &SymbolAt) -> String {
    let mut key = format!("{list} {}", entry.symbol.text());
    for (name, pattern) in [("path", &entry.path), ("library", &entry.library)] {
        key.extend(pattern.iter().map(|pattern| format!(" {name}={}", pattern.text())));
    }
    key
}

/// True if the file is a dynamic object. Other files have no dynamic symbols.
pub(super) fn has_symbols(facts: &FileFacts) -> bool {
    match &facts.content {
        Content::Elf(object) => object.is_dynamic(),
        Content::Archive(_) | Content::Other(_) => false,
    }
}
