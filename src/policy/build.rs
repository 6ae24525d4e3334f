//! Builds the model of one policy from its text, and collects its errors. [`super::tree`] checks
//! each value first. This module checks how values fit together. `load` reads the policies that the
//! policy extends.

use super::errors::{PolicyError, PolicySource};
use super::shape::{self, SELECTORS};
use super::syntax::{self, Torn};
use super::tree::{DocumentCheck, PolicyNode, Table};
use super::{
    ArchivePolicy, FileList, ForbiddenLibrary, Gpu, HostEntry, LevelSetting, Origin, Pattern,
    Policy, Provided, ProviderEntry, Renamed, RequiredFile, RequiredPackage, SearchPath, SearchTag,
    SymbolAt, VersionLimit, Waiver, show, value_errors,
};
use crate::catalogue::{Catalogue, Level, renamed};
use crate::id::FastMap;
use crate::order::Arrange as _;
use crate::text::show;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use toml::de::DeTable;

/// The result of building one policy.
pub(super) struct Built {
    /// The policy's own entries. The policies that it extends are not merged yet.
    pub(super) policy: Policy,
    /// Names of policies that are merged before this one, with their positions in the text.
    pub(super) extends: Vec<(String, Range<usize>)>,
    /// The errors in the text of the policy, in the order of their positions.
    pub(super) problems: Vec<PolicyError>,
}

/// Reads one policy. Entries have `origin` as source; `dir` is the base of relative paths.
pub(super) fn build(
    source: &Arc<PolicySource>,
    origin: &Arc<str>,
    dir: &Path,
    catalogue: &Catalogue,
) -> Built {
    let (document, errors) = DeTable::parse_recoverable(&source.text);
    let mut check = DocumentCheck::new(source, catalogue);
    let root = check.table("a policy", shape::FILE, 0..0, document.get_ref());
    let mut builder = PolicyBuilder { source, origin, dir, check, renamed: Vec::new() };
    let policy = builder.policy(&root);
    let extends = builder.extends(&root);
    let mut problems = builder.check.problems;
    let torn = Torn::new(source, &errors);
    problems.retain(|problem| !torn.explains(source, problem));
    let extends = extends.into_iter().filter(|(_, span)| !torn.holds(source.line(span.start)));
    let extends = extends.collect();
    problems.extend(errors.iter().map(|error| syntax::problem(source, error)));
    problems.arrange_by_key(|problem| problem.place.as_ref().map(|(_, span)| span.start));
    Built { policy, extends, problems }
}

struct PolicyBuilder<'a> {
    source: &'a Arc<PolicySource>,
    origin: &'a Arc<str>,
    dir: &'a Path,
    check: DocumentCheck<'a>,
    renamed: Vec<Renamed>,
}

impl PolicyBuilder<'_> {
    fn origin(&self, span: &Range<usize>) -> Origin {
        Origin { source: Arc::clone(self.origin), line: self.source.line(span.start) }
    }

    fn policy(&mut self, root: &Table) -> Policy {
        let (levels, waivers) = (self.levels(root), self.waivers(root));
        Policy {
            renamed: std::mem::take(&mut self.renamed),
            levels,
            waivers,
            required_files: self.required_files(root),
            required_packages: self.required_packages(root),
            required_symbols: self.symbols(root.table("require")),
            forbidden_libraries: self.forbidden_libraries(root),
            forbidden_symbols: self.symbols(root.table("forbid")),
            version_limits: self.version_limits(root),
            search_path: self.search_path(root),
            gpu: self.gpu(root),
            hosts: self.hosts(root),
            archives: self.archives(root),
            providers: self.providers(root),
            provided: self.provided(root),
            provided_only: self.provided_only(root),
            platforms: Vec::new(),
            sources: Vec::new(),
        }
    }

    fn extends(&mut self, root: &Table) -> Vec<(String, Range<usize>)> {
        let mut seen = SeenTexts::new();
        let mut out = Vec::new();
        for (name, node) in root.texts("extends") {
            self.once(&mut seen, "this policy", name, &node.span);
            out.push((name.to_owned(), node.span.clone()));
        }
        out
    }

    /// Reports an entry that repeats an earlier one.
    fn once(&mut self, seen: &mut SeenTexts, what: &str, says: &str, span: &Range<usize>) {
        match seen.entry(says.to_owned()) {
            Entry::Vacant(place) => drop(place.insert(span.start)),
            Entry::Occupied(place) => {
                let line = self.source.line(*place.get());
                let right = format!("remove it: line {line} lists it first");
                self.check.wrong(span, format!("{what} is listed twice"), right);
            }
        }
    }

    /// Reports an entry that has none of several alternative keys.
    fn needs_one(&mut self, table: &Table, name: &str, without: &str) {
        let keys = shape::one_of(name).unwrap_or_default();
        if !table.partial && keys.iter().all(|key| table.get(key).is_none()) {
            let wrong = format!("`[[{name}]]` {without}");
            self.check.lacks(&table.span, wrong, format!("add one of {}", keys.join(", ")));
        }
    }

    /// The current id of a rule or group. The use of an old id is recorded.
    fn current(&mut self, name: &str, span: &Range<usize>) -> String {
        let Some(new) = renamed(name) else { return name.to_owned() };
        self.renamed.push(Renamed { old: name.to_owned(), new, origin: self.origin(span) });
        new.to_owned()
    }

    fn levels(&mut self, root: &Table) -> Vec<LevelSetting> {
        let Some(table) = root.table("levels") else { return Vec::new() };
        let mut entries: Vec<_> = table.entries.iter().collect();
        entries.arrange_by_key(|(_, span, _)| span.start);
        let mut seen = SeenTexts::new();
        let mut out = Vec::new();
        for (name, span, node) in entries {
            // An old id and its new id name the same rule.
            let current = renamed(name).unwrap_or(name);
            self.once(&mut seen, &format!("the level of `{current}`"), current, span);
            let level = match node.text() {
                Some("allow") => Level::Allow,
                Some("warn") => Level::Warning,
                Some(_) => Level::Error,
                None => continue,
            };
            let name = self.current(name, span);
            out.push(LevelSetting { name, level, origin: self.origin(span) });
        }
        out
    }

    fn waivers(&mut self, root: &Table) -> Vec<Waiver> {
        let mut seen = SeenTexts::new();
        let mut out = Vec::new();
        for table in root.tables("waive") {
            let selectors: Vec<(&str, &PolicyNode)> =
                SELECTORS.iter().filter_map(|key| Some((*key, table.get(key)?))).collect();
            self.needs_one(table, "waive", "has no selector");
            let Some(rule) = table.text("rule") else { continue };
            let rule = &*self.current(rule, &table.span);
            self.unset(rule, &selectors);
            let mut says = rule.to_owned();
            for (key, node) in selectors {
                says = format!("{says}\n{key}={}", node.text().unwrap_or_default());
            }
            if !table.partial {
                self.once(&mut seen, "this waiver", &says, &table.span);
            }
            out.push(Waiver {
                rule: rule.to_owned(),
                path: path(table, "path"),
                symbol: name(table, "symbol"),
                version: name(table, "version"),
                library: name(table, "library"),
                target: name(table, "target"),
                member: name(table, "member"),
                detail: name(table, "detail"),
                reason: table.text("reason").unwrap_or_default().to_owned(),
                expires: table.get("expires").and_then(PolicyNode::day),
                origin: self.origin(&table.span),
            });
        }
        out
    }

    /// Reports selectors whose keys never occur in findings of the waiver's rule.
    fn unset(&mut self, rule: &str, selectors: &[(&str, &PolicyNode)]) {
        let Some(keys) = self.check.catalogue.known(rule).and_then(|known| known.keys) else {
            return;
        };
        for (key, node) in selectors {
            if *key != "path" && !keys.contains(key) {
                let wrong = format!("`{key}` cannot match: findings of `{rule}` have none");
                let all = ["path"].iter().chain(keys).copied().collect::<Vec<_>>();
                self.check.wrong(&node.span, wrong, format!("use one of {}", all.join(", ")));
            }
        }
    }

    fn required_files(&mut self, root: &Table) -> Vec<RequiredFile> {
        let mut seen = SeenTexts::new();
        let mut out = Vec::new();
        for list in FileList::ALL {
            let table = root.table("require").into_iter();
            for (text, node) in table.flat_map(|table| table.texts(list.key())) {
                self.once(&mut seen, "this file", &list.path(text), &node.span);
                let Ok(path) = Pattern::path(&list.path(text)) else { continue };
                let (text, origin) = (text.to_owned(), self.origin(&node.span));
                out.push(RequiredFile { list, text, path, origin });
            }
        }
        out
    }

    fn required_packages(&mut self, root: &Table) -> Vec<RequiredPackage> {
        let mut seen = SeenTexts::new();
        let mut out = Vec::new();
        for entry in root.table("require").into_iter().flat_map(|t| t.tables("cmake-packages")) {
            let Some(name) = entry.text("name") else { continue };
            self.once(&mut seen, "this package", name, &entry.span);
            out.push(RequiredPackage {
                name: name.to_owned(),
                components: entry.texts("components").map(|(text, _)| text.to_owned()).collect(),
                reason: entry.text("reason").map(str::to_owned),
                origin: self.origin(&entry.span),
            });
        }
        out
    }

    fn symbols(&mut self, table: Option<&Table>) -> Vec<SymbolAt> {
        let mut seen = SeenTexts::new();
        let mut out = Vec::new();
        for entry in table.into_iter().flat_map(|table| table.tables("symbols")) {
            let Some(symbol) = name(entry, "symbol") else { continue };
            let part = |key| entry.text(key).unwrap_or_default();
            let says = [part("path"), part("library"), part("symbol")].join("\n");
            self.once(&mut seen, "this symbol", &says, &entry.span);
            out.push(SymbolAt {
                path: path(entry, "path"),
                library: name(entry, "library"),
                symbol,
                reason: entry.text("reason").map(str::to_owned),
                origin: self.origin(&entry.span),
            });
        }
        out
    }

    fn forbidden_libraries(&mut self, root: &Table) -> Vec<ForbiddenLibrary> {
        let mut seen = SeenTexts::new();
        let mut out = Vec::new();
        for entry in root.table("forbid").into_iter().flat_map(|t| t.tables("libraries")) {
            let Some(name) = name(entry, "name") else { continue };
            self.once(&mut seen, "this library", name.text(), &entry.span);
            let reason = entry.text("reason").map(str::to_owned);
            out.push(ForbiddenLibrary { name, reason, origin: self.origin(&entry.span) });
        }
        out
    }

    fn provided(&mut self, root: &Table) -> Vec<Provided> {
        let mut seen = SeenTexts::new();
        let mut out = Vec::new();
        for (soname, node) in root.table("provided").into_iter().flat_map(|t| t.texts("libraries"))
        {
            self.once(&mut seen, "this library", soname, &node.span);
            out.push(Provided { soname: soname.to_owned(), origin: self.origin(&node.span) });
        }
        out
    }

    fn provided_only(&self, root: &Table) -> Option<(bool, Origin)> {
        let node = root.table("provided")?.get("only")?;
        Some((node.truth()?, self.origin(&node.span)))
    }

    fn version_limits(&self, root: &Table) -> Vec<VersionLimit> {
        let limits = root.table("limits").and_then(|limits| limits.table("symbol-versions"));
        let limit = |(family, span, node): &(String, Range<usize>, PolicyNode)| {
            Some(VersionLimit {
                family: family.clone(),
                newest: value_errors::parts(node.text()?)?,
                listed: None,
                origin: self.origin(span),
            })
        };
        limits.into_iter().flat_map(|table| &table.entries).filter_map(limit).collect()
    }

    fn search_path(&mut self, root: &Table) -> SearchPath {
        let Some(table) = root.table("search-path") else { return SearchPath::default() };
        let tag = |node: &PolicyNode| match node.text()? {
            "rpath" => Some((SearchTag::Rpath, self.origin(&node.span))),
            "runpath" => Some((SearchTag::Runpath, self.origin(&node.span))),
            _ => Some((SearchTag::None, self.origin(&node.span))),
        };
        let require = table.get("require").and_then(tag);
        SearchPath { require, allow: self.list(table, "allow", "this entry") }
    }

    fn gpu(&mut self, root: &Table) -> Gpu {
        let Some(table) = root.table("gpu") else { return Gpu::default() };
        let loader = table.get("loader");
        let loader = loader.and_then(|l| Some((l.text()?.to_owned(), self.origin(&l.span))));
        let exact = table.get("exact");
        let exact = exact.and_then(|e| Some((e.truth()?, self.origin(&e.span))));
        Gpu { targets: self.list(table, "targets", "this target"), exact, loader }
    }

    /// The texts in the list `key`, with its origin; `None` without the key. A later policy
    /// replaces the whole list.
    fn list(&mut self, table: &Table, key: &str, what: &str) -> Option<(Vec<String>, Origin)> {
        let mut seen = SeenTexts::new();
        let mut out = Vec::new();
        for (text, node) in table.texts(key) {
            self.once(&mut seen, what, text, &node.span);
            out.push(text.to_owned());
        }
        Some((out, self.origin(&table.get(key)?.span)))
    }

    /// The patterns at the key `key`. `tree` has already rejected invalid ones.
    fn patterns(&mut self, table: &Table, key: &str, new: NewPattern) -> Vec<Pattern> {
        let mut seen = SeenTexts::new();
        let mut out = Vec::new();
        for (text, node) in table.texts(key) {
            self.once(&mut seen, "this pattern", text, &node.span);
            out.extend(new(text));
        }
        out
    }

    fn hosts(&mut self, root: &Table) -> Vec<HostEntry> {
        let mut seen = SeenTexts::new();
        let mut out = Vec::new();
        let mut named: FastMap<Option<&str>, usize> = FastMap::default();
        for table in root.tables("host") {
            *named.entry(table.text("name")).or_default() += 1;
        }
        for table in root.tables("host") {
            let host = HostEntry {
                name: table.text("name").unwrap_or_default().to_owned(),
                plugins: self.patterns(table, "plugins", Pattern::path),
                exports: self.patterns(table, "exports", Pattern::name),
                symbols: self.patterns(table, "symbols", Pattern::name),
                executable: table.text("executable").map(str::to_owned),
                loads: self
                    .list(table, "loads", "this library")
                    .map(|(all, _)| all)
                    .unwrap_or_default(),
                list: table.text("list").map(str::to_owned),
                origin: self.origin(&table.span),
            };
            self.needs_one(table, "host", "recognises no plugin");
            // Only entries of one name can be equal, and the text of an entry may be long.
            if !table.partial && named[&table.text("name")] > 1 {
                self.once(&mut seen, "this host", &show::host_text(&host), &table.span);
            }
            out.push(host);
        }
        out
    }

    fn archives(&mut self, root: &Table) -> Vec<ArchivePolicy> {
        let mut seen = SeenTexts::new();
        let mut out = Vec::new();
        for table in root.tables("archive") {
            let Some(matches) = path(table, "match") else { continue };
            let covers = self.patterns(table, "covers", Pattern::name);
            let deps_list = table.text("deps-list").map(|list| self.dir.join(list));
            self.needs_one(table, "archive", "has no requirement");
            let from = table.table("from");
            if let Some(from) = from.filter(|_| deps_list.is_none() && !table.partial) {
                let wrong = "`from` needs a list".to_owned();
                self.check.lacks(&from.span, wrong, "add `deps-list`");
            }
            let entries = from.into_iter().flat_map(|from| &from.entries);
            let from = entries
                .filter_map(|(set, _, node)| Some((set.clone(), self.dir.join(node.text()?))))
                .collect();
            let origin = self.origin(&table.span);
            let archive = ArchivePolicy { matches, covers, deps_list, from, origin };
            if !table.partial {
                self.once(&mut seen, "this archive", &show::archive_text(&archive), &table.span);
            }
            out.push(archive);
        }
        out
    }

    fn providers(&mut self, root: &Table) -> Vec<ProviderEntry> {
        let mut seen = SeenTexts::new();
        let mut out = Vec::new();
        for table in root.tables("provider") {
            let (Some(symbol), Some(archive)) = (table.text("symbol"), table.get("archive")) else {
                continue;
            };
            let name = archive.text().unwrap_or_default();
            if name.contains("{T}") && !symbol.contains("{T}") {
                let wrong = "nothing says what `{T}` stands for".to_owned();
                let right = format!("`{}` has no `{{T}}`", show(symbol.as_bytes()));
                self.check.wrong(&archive.span, wrong, right);
            }
            let text = |key| table.text(key).unwrap_or_default();
            let says = [symbol, name, text("list"), text("path")].join("\n");
            self.once(&mut seen, "this provider", &says, &table.span);
            out.push(ProviderEntry {
                symbol: symbol.to_owned(),
                archive: name.to_owned(),
                list: table.text("list").map(str::to_owned),
                path: path(table, "path"),
                origin: self.origin(&table.span),
            });
        }
        out
    }
}

/// The texts of earlier entries of one list, with their offsets in the policy.
type SeenTexts = BTreeMap<String, usize>;
/// [`Pattern::path`] or [`Pattern::name`].
type NewPattern = fn(&str) -> Result<Pattern, String>;

fn path(table: &Table, key: &str) -> Option<Pattern> {
    Pattern::path(table.text(key)?).ok()
}

fn name(table: &Table, key: &str) -> Option<Pattern> {
    Pattern::name(table.text(key)?).ok()
}
