//! What rules about policies share: where an entry stands, which files a path of a policy means, and
//! what a policy demands that could not be held against anything. It finds no fault itself.

use super::{
    Context, Rule, forbidden_symbol, required_file, required_symbol, symbol_version_too_new,
    undecided,
};
use crate::catalogue::Level;
use crate::facts::{Content, FileFacts};
use crate::finding::{Evidence, EvidenceKind, Finding, Findings};
use crate::id::{FastMap, FileId, RootId};
use crate::package::Located;
use crate::policy::{Levels, Origin, Pattern, SymbolAt};
use crate::text::show;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where an entry of a policy stands, for people.
pub(super) fn place(origin: &Origin) -> String {
    let source = show(origin.source.as_bytes());
    if origin.line == 0 { source } else { format!("{source}:{}", origin.line) }
}

/// `: REASON`, if a policy gives one.
pub(super) fn because(reason: Option<&str>) -> String {
    reason.map(|reason| format!(": {}", show(reason.as_bytes()))).unwrap_or_default()
}

/// The policy itself as what a finding is about.
pub(super) fn policy_file(origin: &Origin) -> Arc<Located> {
    Located { prefix: None, path: PathBuf::from(&*origin.source) }.into()
}

/// A given directory as policies see it.
pub(super) struct Given<'a> {
    /// The directory, links resolved.
    pub(super) dir: &'a Path,
    /// The prefix that paths of policies are below.
    pub(super) prefix: PathBuf,
    /// The directory below that prefix: empty if the whole prefix was walked.
    base: PathBuf,
}

impl Given<'_> {
    /// The place of what `pattern` names and nothing is.
    pub(super) fn absent(&self, pattern: &Pattern) -> Arc<Located> {
        Located { prefix: Some(self.prefix.clone()), path: pattern.text().into() }.into()
    }

    /// True if everything that `pattern` can match lies in the directory.
    pub(super) fn holds(&self, pattern: &Pattern) -> bool {
        let is_plain = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
        let text = pattern.text();
        let dir = text.rsplit_once('/').map_or("", |(dir, _)| dir);
        let head: PathBuf = dir.split('/').take_while(is_plain).collect();
        head.starts_with(&self.base)
    }
}

impl<'a> Context<'a> {
    /// The directories that were given.
    pub(super) fn given(&self) -> Vec<Given<'a>> {
        let prefixes = &self.audit.prefixes;
        let given = |dir: &'a PathBuf| {
            let inside = prefixes.locate(&dir.join("x"));
            let base = inside.path.parent().map(Path::to_path_buf).unwrap_or_default();
            Given { dir, prefix: inside.prefix.unwrap_or_else(|| dir.clone()), base }
        };
        prefixes.dirs().iter().map(given).collect()
    }

    /// All names of an audited file, those through linked directories too.
    pub(super) fn names(&self, facts: &FileFacts) -> Vec<PathBuf> {
        let names = facts.names.iter().map(|name| name.path.as_path());
        std::iter::once(&*facts.path).chain(names).flat_map(|name| self.aliases(name)).collect()
    }

    /// A path, and what it is called through linked directories.
    pub(super) fn aliases(&self, path: &Path) -> Vec<PathBuf> {
        let linked = self.audit.linked.iter().filter_map(|(link, real)| {
            let rest = path.strip_prefix(real).ok()?;
            Some(link.join(rest))
        });
        std::iter::once(path.to_path_buf()).chain(linked).collect()
    }

    /// True if `path` matches `pattern` below its prefix.
    pub(super) fn lies_at(&self, path: &Path, pattern: &Pattern) -> bool {
        pattern.matches(self.audit.prefixes.locate(path).path.as_os_str().as_bytes())
    }

    /// Audited files that a policy means, with the names it can mean them by.
    pub(super) fn meant(&self, at: &SymbolAt) -> Vec<(FileId, Vec<PathBuf>)> {
        let files = self.audit.corpus.files.entries().filter(|(_, facts)| facts.audited);
        let named = |(file, facts)| {
            let mut names = self.names(facts);
            if let Some(pattern) = &at.path {
                names.retain(|name| self.lies_at(name, pattern));
            } else if !facts.object().is_some_and(crate::format::elf::Object::is_dynamic) {
                names.clear();
            }
            (!names.is_empty()).then_some((file, names))
        };
        files.filter_map(named).collect()
    }

    /// Roots by the files they load.
    pub(super) fn loaders(&self) -> FastMap<FileId, Vec<(RootId, u32)>> {
        let mut out: FastMap<FileId, Vec<(RootId, u32)>> = FastMap::default();
        for (root, closure) in self.audit.closures.roots.entries() {
            for (module, file) in closure.found() {
                out.entry(file).or_default().push((root, module));
            }
        }
        out
    }
}

/// Evidence that a policy says so.
pub(super) fn origin(origin: &Origin) -> Evidence {
    let reason = Some(format!("by the policy {}", place(origin)));
    Evidence { reason, ..Evidence::new(EvidenceKind::Reference) }
}

/// What policies demand and nothing could answer.
pub(super) fn unanswered(context: &Context<'_>) -> Findings {
    let policy = &context.plan.policy;
    let levels = Levels::new(policy);
    let is_asked = |rule: &Rule| levels.of(rule.id, &rule.group) != Level::Allow;
    let mut out = Findings::new();
    let given = context.given();
    let mut absent = |origin: &Origin, pattern: &Pattern, what: &str| {
        let what = format!("{} demands {what}", place(origin));
        if given.is_empty() {
            let words = format!("{what}, and no directory was given where it would lie");
            out.push(finding(policy_file(origin), words, pattern.text()));
        }
        for given in given.iter().filter(|given| !given.holds(pattern)) {
            let words = format!("{what}, and not the whole prefix was given");
            out.push(finding(given.absent(pattern), words, pattern.text()));
        }
    };
    let files = policy.required_files.iter().filter(|_| is_asked(&required_file::RULE));
    for required in files {
        if !required_file::is_there(context, required, None) {
            absent(
                &required.origin,
                &required.path,
                show(required.path.text().as_bytes()).as_str(),
            );
        }
    }
    let symbols = policy.required_symbols.iter().filter(|_| is_asked(&required_symbol::RULE));
    for required in symbols {
        if let Some(pattern) = required.path.as_ref().filter(|_| context.meant(required).is_empty())
        {
            let symbol = show(required.symbol.text().as_bytes());
            let file = show(pattern.text().as_bytes());
            absent(&required.origin, pattern, &format!("the symbol {symbol} in {file}"));
        }
    }
    let required = policy.required_symbols.iter().filter(|_| is_asked(&required_symbol::RULE));
    let forbidden = policy.forbidden_symbols.iter().filter(|_| is_asked(&forbidden_symbol::RULE));
    out.extend(archives(context, required.chain(forbidden)));
    if is_asked(&symbol_version_too_new::RULE) {
        out.extend(symbol_version_too_new::unanswered(context));
    }
    out
}

fn finding(file: Arc<Located>, words: String, detail: &str) -> Box<Finding> {
    let mut finding = Finding::new(undecided::RULE.id, file, words);
    finding.detail = Some(detail.into());
    finding
}

/// Archives and other files without dynamic symbols that a policy names for their symbols.
fn archives<'p>(context: &Context<'_>, entries: impl Iterator<Item = &'p SymbolAt>) -> Findings {
    let mut out = Findings::new();
    for at in entries {
        for (file, _) in context.meant(at) {
            if has_symbols(&context.audit.corpus.files[file]) {
                continue;
            }
            let symbol = at.symbol.text();
            let words = format!(
                "{} is about its symbol {}, and only those of programs and shared objects are read",
                place(&at.origin),
                show(symbol.as_bytes())
            );
            let mut finding = context.about(undecided::RULE.id, file, words);
            finding.symbol = Some(symbol.into());
            out.push(finding);
        }
    }
    out.sort_by(|a, b| a.key().cmp(&b.key()));
    out.dedup_by(|b, a| a.key() == b.key());
    out
}

/// True if the dynamic symbols of a file are known.
pub(super) fn has_symbols(facts: &FileFacts) -> bool {
    match &facts.content {
        Content::Elf(object) => object.is_dynamic(),
        Content::Archive(_) | Content::Other(_) => false,
    }
}
