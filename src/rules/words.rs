//! Evidence, findings and parts of messages that several rules share. This module is not a rule.

use super::demand::{by_policy, policy_file};
use super::query::{Query, last_part};
use crate::audit::{DefinerKind, InstalledLibrary};
use crate::catalogue::RuleId;
use crate::diagnosis::{MissingLibrary, Site};
use crate::facts::providers::Provider;
use crate::finding::{
    ENDS_LIST, Evidence, EvidenceKind, Finding, INSTALLED, INSTALLED_PROGRAM, PROGRAM, REMOVED,
    SHADOWED,
};
use crate::format::deps_list::bare_name;
use crate::format::elf::{Object, Role, Target};
use crate::id::{ArchiveId, FileId, MemberId, RootId};
use crate::order::Arrange as _;
use crate::policy::{Libc, Waiver};
use crate::resolve::trace::{Tried, TriedOutcome};
use crate::text::{common_parts, shell, shell_path, show, show_path};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

/// Maximum number of candidates that a finding lists, besides installed files.
const MOST_CANDIDATES: usize = 5;

/// The value of `how` for a host program, in evidence about its plugins.
const HOST: &str = "host";

impl Query<'_> {
    /// The path of an entry point's file. If the file has several hard links, this is the link that
    /// is started.
    fn shared_root(&self, root: RootId) -> Arc<Path> {
        let root = &self.closure(root).root;
        let facts = self.facts(root.file);
        let link = facts.other_hard_link(self.text(root.path), &self.plan().cwd);
        link.map_or_else(|| Arc::clone(&facts.path), Arc::from)
    }

    /// The path of a file, quoted for a shell; `None` if it has characters that [`show`] escapes.
    pub(super) fn quoted(&self, file: FileId) -> Option<String> {
        typeable_path(self.path(file))
    }

    /// The variables of glibc's loader that the audit assumes, as the start of a shell command;
    /// empty if none is set. `None` if a value has characters that [`show`] escapes.
    pub(super) fn loader_variables(&self) -> Option<String> {
        let plan = self.plan();
        let all = [("LD_PRELOAD", &plan.ld_preload), ("LD_LIBRARY_PATH", &plan.ld_library_path)];
        let set = all.into_iter().filter(|(_, value)| !value.is_empty());
        set.map(|(name, value)| Some(format!("{name}={} ", typeable(value)?))).collect()
    }

    /// Evidence for each other hard link that the walk found to a file.
    fn other_names(&self, file: FileId) -> impl Iterator<Item = Evidence> + '_ {
        let facts = &self.facts(file);
        let others = facts.names.iter().filter(|name| !name.is_link);
        others.map(|name| Evidence::at(EvidenceKind::Reference, name.path.as_path().into()))
    }

    /// A finding about a file, with hard links to the file as evidence.
    pub(super) fn about(&self, rule: RuleId, file: FileId, message: String) -> Box<Finding> {
        let mut finding = Finding::new(rule, self.locate(file), message);
        finding.evidence.extend(self.other_names(file));
        finding
    }

    /// Evidence: the entry points `roots`, their host programs, and the chain of needs from the
    /// entry point of `site` to the module of `site`. If `site` is `None`, the chain is left out.
    pub(super) fn roots(&self, roots: &[RootId], site: Option<Site>) -> Vec<Evidence> {
        let mut out: Vec<Evidence> = roots
            .iter()
            .map(|root| Evidence::at(EvidenceKind::Root, self.shared_root(*root)))
            .collect();
        out.dedup();
        let mut hosts: Vec<FileId> =
            roots.iter().filter_map(|root| self.closure(*root).root.host).collect();
        hosts.arrange();
        hosts.dedup();
        hosts.arrange_by_key(|host| self.path(*host).as_os_str());
        out.extend(hosts.into_iter().map(|host| self.host(host)));
        let Some(site) = site else { return out };
        let closure = self.closure(site.root);
        let chain = self.chain(site);
        let middle = chain.hops.len() / 2;
        for (at, module) in chain.hops.into_iter().enumerate() {
            if chain.left_out > 0 && at == middle {
                let reason = Some(format!("{} hops left out", chain.left_out));
                out.push(Evidence { reason, ..Evidence::new(EvidenceKind::Chain) });
            }
            let module = closure.module(module);
            let Some(file) = module.file else { continue };
            let is_host = at == 0 && closure.host().is_some();
            out.push(Evidence {
                name: Some(self.text(module.name).to_vec()).filter(|name| !name.is_empty()),
                how: Some(Cow::Borrowed(if is_host { HOST } else { module.how.name() })),
                ..Evidence::at(EvidenceKind::Chain, self.shared_path(file))
            });
        }
        out
    }

    /// A host program as evidence.
    pub(super) fn host(&self, file: FileId) -> Evidence {
        let path = self.shared_path(file);
        Evidence { how: Some(Cow::Borrowed(HOST)), ..Evidence::at(EvidenceKind::Root, path) }
    }

    /// The path of the first of `roots`; `None` if there are none.
    pub(super) fn first_root(&self, roots: &[RootId]) -> Option<Arc<Path>> {
        roots.first().map(|root| self.shared_root(*root))
    }

    /// Candidates that define the symbol `name`, except the file `not`. At most [`MOST_CANDIDATES`]
    /// are kept: the libraries whose paths share the most leading directories with the path of
    /// `not`. Programs come last.
    pub(super) fn symbol_candidates(&self, name: &[u8], not: FileId) -> Vec<Evidence> {
        let is_program = |provider: &Provider| {
            let object = self.view().object(provider.file);
            object.is_some_and(|object| object.role == Role::Program)
        };
        let evidence = |(provider, is_program): (&Provider, bool)| Evidence {
            symbol: Some(name.to_vec()),
            member: provider.member.as_deref().map(<[u8]>::to_vec),
            how: is_program.then_some(Cow::Borrowed(PROGRAM)),
            ..Evidence::at(EvidenceKind::Candidate, self.shared_path(provider.file))
        };
        let Some(object) = self.view().object(not) else { return Vec::new() };
        let found = self.definers(name, not, object.header.target());
        // Linkers do not link with programs, so these candidates come last.
        let (programs, mut libraries): (Vec<_>, Vec<_>) =
            found.map(|provider| (provider, is_program(provider))).partition(|(_, is)| *is);
        if libraries.len() > MOST_CANDIDATES {
            let near = |provider: &Provider| common_parts(self.path(not), self.path(provider.file));
            libraries.arrange_by_key(|(provider, _)| Reverse(near(provider)));
        }
        libraries.into_iter().chain(programs).take(MOST_CANDIDATES).map(evidence).collect()
    }

    /// Marks a candidate library if the process of `root` loads another file with the same soname.
    /// A link with this candidate changes nothing, because the loader takes the other file.
    pub(super) fn mark_shadowed(&self, candidates: &mut [Evidence], root: RootId) {
        let soname = |file: FileId| self.view().object(file).and_then(Object::soname);
        for candidate in candidates.iter_mut().filter(|one| one.member.is_none()) {
            let file = candidate.path.as_deref().and_then(|path| self.file_at(path));
            let Some((file, own)) = file.and_then(|file| Some((file, soname(file)?))) else {
                continue;
            };
            let mut loaded = self.closure(root).found().map(|(_, other)| other);
            let taken = loaded.find(|other| *other != file && soname(*other) == Some(own));
            if let Some(taken) = taken {
                candidate.how = Some(Cow::Borrowed(SHADOWED));
                let root = show_path(self.path(self.closure(root).root.file));
                let taken = show_path(self.path(taken));
                candidate.reason = Some(format!("{root} loads {taken} for this soname"));
            }
        }
    }

    /// Evidence for installed files that define a symbol to which `file` refers, and that the
    /// process of `root` does not load.
    pub(super) fn installed_definers(
        &self,
        file: FileId,
        symbol: &[u8],
        root: RootId,
    ) -> impl Iterator<Item = Evidence> {
        let root = self.path(self.closure(root).root.file);
        let root = show_path(root.file_name().map_or(root, Path::new));
        self.installed().definers(file, symbol).map(move |(library, kind)| {
            let (how, reason) = match kind {
                DefinerKind::Library => (INSTALLED, Some(format!("not needed by {root}"))),
                DefinerKind::Shadowed => {
                    (SHADOWED, Some(format!("{root} loads another file of this soname")))
                }
                DefinerKind::Program => (INSTALLED_PROGRAM, None),
            };
            Evidence {
                symbol: Some(symbol.to_vec()),
                how: Some(Cow::Borrowed(how)),
                package: library.package.clone(),
                reason,
                ..Evidence::at(EvidenceKind::Candidate, Arc::clone(&library.path))
            }
        })
    }

    /// Files of installed packages that are named `name`, for an object of `target` in processes
    /// with `libc`. Files that no longer exist are listed too.
    pub(super) fn installed_libraries(
        &self,
        name: &[u8],
        target: Target,
        libc: Libc,
    ) -> Vec<Evidence> {
        let evidence = |library: &InstalledLibrary| Evidence {
            how: Some(Cow::Borrowed(if library.target.is_some() { INSTALLED } else { REMOVED })),
            package: library.file.package.clone(),
            ..Evidence::at(EvidenceKind::Candidate, Arc::clone(&library.file.path))
        };
        self.installed().libraries(name, target, libc).map(evidence).collect()
    }

    /// Evidence for the members that refer to a symbol, in the archive that `file` was probably
    /// linked from.
    pub(super) fn traced(&self, file: FileId, symbol: &[u8]) -> Vec<Evidence> {
        let Some(traced) = self.trace(file, symbol) else { return Vec::new() };
        let library = &self.library();
        let path = |archive| Arc::clone(&library.entry(archive).path);
        let evidence = |(member, origin): &(MemberId, Option<ArchiveId>)| Evidence {
            symbol: Some(symbol.to_vec()),
            member: Some(library.member_name(*member).to_vec()),
            archive: origin.map(path),
            ..Evidence::at(EvidenceKind::Reference, path(traced.archive))
        };
        let mut out: Vec<Evidence> = traced.members.iter().map(evidence).collect();
        if traced.more > 0 {
            out.push(Evidence {
                symbol: Some(symbol.to_vec()),
                reason: Some(format!("{} more members refer to it", traced.more)),
                minor: true,
                ..Evidence::at(EvidenceKind::Reference, path(traced.archive))
            });
        }
        out
    }

    /// Sets the reason `not in LIST` for candidate archives that a list of archives does not name.
    /// This applies if `file` was probably linked from an archive that is merged from that list.
    pub(super) fn unlisted(&self, file: FileId, symbol: &[u8], candidates: &mut [Evidence]) {
        let Some(traced) = self.trace(file, symbol) else { return };
        for (merged, archives) in self.merged() {
            let Ok(list) = &merged.list else { continue };
            if !archives.contains(&traced.archive) {
                continue;
            }
            let name = merged.path.file_name().map_or(&*merged.path, Path::new);
            for candidate in candidates.iter_mut() {
                let path = candidate.path.as_deref().and_then(Path::file_name);
                let bare = path.and_then(|path| bare_name(path.as_bytes()));
                if bare.is_some_and(|bare| !list.names().any(|listed| listed == bare)) {
                    candidate.reason = Some(format!("not in {}", show_path(name)));
                }
            }
        }
    }

    /// Candidates whose soname or file name is the last part of `name`, and that an object of
    /// `target` can load. At most [`MOST_CANDIDATES`].
    pub(super) fn library_candidates(&self, name: &[u8], target: Target) -> Vec<Evidence> {
        let base = last_part(Path::new(OsStr::from_bytes(name)));
        let found = self.libraries_named(base);
        found
            .iter()
            .filter(|file| self.view().object(**file).is_some_and(|object| fits(object, target)))
            .take(MOST_CANDIDATES)
            .map(|file| Evidence::at(EvidenceKind::Candidate, self.path_named(*file, base)))
            .collect()
    }

    /// Candidates for a missing library in the prefix of the object that needs it. These candidates
    /// are neither audited nor below `--lib-path`.
    pub(super) fn unaudited_candidates(
        &self,
        missing: &MissingLibrary,
        target: Target,
    ) -> impl Iterator<Item = Evidence> {
        let is_new = move |(file, _): &(FileId, &Path)| {
            let facts = self.facts(*file);
            let is_known = facts.audited || facts.provider;
            !is_known && facts.object().is_some_and(|object| fits(object, target))
        };
        let found = self.in_prefix(missing).filter(is_new).take(MOST_CANDIDATES);
        found.map(|(_, path)| Evidence::at(EvidenceKind::Candidate, path.into()))
    }

    /// The first of a file's paths whose last component is `name`; the main path if there is none.
    fn path_named(&self, file: FileId, name: &[u8]) -> Arc<Path> {
        let path = self.shared_path(file);
        if last_part(&path) == name {
            return path;
        }
        let links = self.view().file(file).names.iter();
        let link = links.map(|link| &*link.path).find(|link| last_part(link) == name);
        link.map_or(path, Arc::from)
    }
}

/// True if an object of `target` can load `object`.
fn fits(object: &Object, target: Target) -> bool {
    object.is_dynamic() && object.header.target().links_with(target)
}

/// `bytes` as a word of a shell command, quoted if necessary; `None` if they contain characters
/// that [`show`] escapes.
pub(crate) fn typeable(bytes: &[u8]) -> Option<String> {
    (show(bytes).as_bytes() == bytes).then(|| shell(bytes))
}

/// The same for a path, so that a command does not take it for an option.
pub(crate) fn typeable_path(path: &Path) -> Option<String> {
    typeable(path.as_os_str().as_bytes()).map(|_| shell_path(path))
}

/// One path that the loader tried, as evidence.
pub(super) fn tried(tried: &Tried) -> Evidence {
    Evidence {
        how: Some(Cow::Borrowed(tried.how.name())),
        reason: Some(outcome(tried.outcome)),
        minor: tried.subdir || tried.outcome == TriedOutcome::NoDirectory,
        ..Evidence::at(EvidenceKind::Tried, Path::new(OsStr::from_bytes(&tried.path)).into())
    }
}

/// One path that the loader tried, in words: the path, the step of the search, and the result.
pub(crate) fn tried_in_words(tried: &Tried) -> String {
    let (path, why) = (show(&tried.path), outcome(tried.outcome));
    match tried.outcome {
        // The path is that of ld.so.cache itself.
        TriedOutcome::NoEntry | TriedOutcome::NoCache => format!("{path}: {why}"),
        _ => format!("{path} ({}): {why}", step(tried.how.name())),
    }
}

/// A step of the search in the words of `man ld.so`; `how` is the name of the step in JSON.
pub(crate) fn step(how: &str) -> &str {
    match how {
        "rpath" => "RPATH",
        "runpath" => "RUNPATH",
        "ld-library-path" => "LD_LIBRARY_PATH",
        "default" => "default directory",
        "cache" => "ld.so.cache",
        other => other,
    }
}

/// The result of trying a path, in words.
pub(crate) fn outcome(outcome: TriedOutcome) -> String {
    let absent = crate::tree::walk::describe(crate::tree::Errno::NOENT);
    match outcome {
        TriedOutcome::Taken => "taken".to_owned(),
        TriedOutcome::OfProcess => "a different file in every process".to_owned(),
        TriedOutcome::Failed(errno) => crate::tree::walk::describe(errno),
        TriedOutcome::Ended(errno) => {
            format!("{}, and {ENDS_LIST}", crate::tree::walk::describe(errno))
        }
        TriedOutcome::WrongClass => "another ELF class".to_owned(),
        TriedOutcome::WrongMachine => "another machine".to_owned(),
        TriedOutcome::Fatal(text) => text.to_owned(),
        TriedOutcome::NoDirectory => "no such directory".to_owned(),
        TriedOutcome::LeftOut(0) => absent,
        TriedOutcome::LeftOut(more) => {
            format!("{absent}, like {more} more paths that are not listed")
        }
        TriedOutcome::NoEntry => "no entry".to_owned(),
        TriedOutcome::NoCache => "no usable cache".to_owned(),
        TriedOutcome::Forbidden => "DF_1_NODEFLIB forbids default directories".to_owned(),
    }
}

/// True if the search skipped a file because of its ELF class or machine.
pub(super) fn passed_over(tried: &[Tried]) -> bool {
    tried.iter().any(|t| matches!(t.outcome, TriedOutcome::WrongClass | TriedOutcome::WrongMachine))
}

/// A finding of `rule` about a waiver. `word` makes the message from the waiver's rule and
/// selectors.
pub(super) fn about_waiver(
    rule: RuleId,
    waiver: &Waiver,
    word: impl Fn(&str) -> String,
) -> Box<Finding> {
    let mut text = waiver.rule.clone();
    text.extend(waiver.selectors().map(|(key, pattern)| format!(" {key}={}", pattern.text())));
    let message = word(&show(text.as_bytes()));
    let mut finding = Finding::new(rule, policy_file(&waiver.origin), message);
    by_policy(&mut finding, format!("waive {}", show(text.as_bytes())), &waiver.origin);
    finding.detail = Some(text.into());
    finding
}
