//! Builds the model from an audit, and from its findings with levels and waivers. All parts of a
//! report are computed in this folder.

use super::cause::{self, CauseKind, NamedCause};
use super::definers::Definers;
use super::file::{AuditedArchive, File, Name, ReportedNeed};
use super::platform;
use super::{
    AssumedBy, Assumption, Counts, DirectoryLink, InferredPlugin, Report, ReportCrossCheck,
    ReportFinding, ReportWaiver, RuleRun, SCHEMA, StaleLine, Tool, Totals, WaivedBy, WaivedFinding,
    group, layers, scope,
};
use crate::audit::Audit;
use crate::catalogue::Level;
use crate::diagnosis::{Assumed, FirstLoad, FirstLoader, InferredHost};
use crate::facts::FileFacts;
use crate::finding::CauseHint;
use crate::format::elf::{FIRST_VERSION, Object, Role, Str, machine};
use crate::gpu::Unit;
use crate::id::{FastMap, FileId};
use crate::order;
use crate::order::Arrange as _;
use crate::package::Prefixes;
use crate::parallel;
use crate::plan::Plan;
use crate::resolve::Edge;
use crate::rules::{RULES, Rule};
use crate::text::show_path;
use crate::triage::{AppliedWaiver, BaselineLine, Stale, Triage, Triaged};
use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Parts of a report that are expensive to compute and that only some outputs need.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Parts {
    /// The ELF files that were read, with their needs.
    pub files: bool,
    /// The audited archives, with counts of members and of undefined names.
    pub archives: bool,
}

impl Parts {
    /// The parts that `self` or `other` has.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { files: self.files || other.files, archives: self.archives || other.archives }
    }
}

impl Report {
    /// The report of `audit`. `triage` has the findings of the audit. Parts that `parts` omits stay
    /// empty.
    pub fn new(audit: &Audit, plan: &Plan, triage: Triage, parts: Parts) -> Self {
        let counts = counts(&triage);
        let complete = triage.complete;
        let (totals, assumptions) = (totals(audit, &triage), assumptions(audit, &triage));
        let Triage { findings, waived, stale, .. } = triage;
        let mut naming = Naming::new(&audit.prefixes);
        let all = findings.iter().chain(waived.iter().map(|waived| &waived.judged));
        all.for_each(|judged| naming.definers.count(&judged.finding));
        let mut findings: Vec<ReportFinding> =
            findings.into_iter().map(|judged| naming.finding(judged)).collect();
        let mut waivers = Waivers::default();
        let waived = waived.into_iter().map(|waived| WaivedFinding {
            waiver: waivers.of(&waived.by),
            finding: naming.finding(waived.judged),
        });
        let waived = waived.collect();
        let scopes = scope::scopes(audit, &findings);
        let mut causes = cause::gather(&mut findings, &naming.causes);
        let groups = group::gather(&mut causes, &findings);
        Self {
            schema: SCHEMA.to_owned(),
            tool: Tool {
                name: "linkaudit".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            policies: plan.policy.sources.iter().map(ToString::to_string).collect(),
            complete,
            totals,
            counts,
            rules: RULES
                .iter()
                .filter(|rule| rule.runs(plan))
                .map(|rule| run(rule, plan))
                .collect(),
            assumptions,
            causes,
            groups,
            scopes,
            findings,
            waived,
            files: if parts.files { files(audit) } else { Vec::new() },
            archives: if parts.archives { archives(audit) } else { Vec::new() },
            directory_links: directory_links(audit, plan),
            stale: stale.into_iter().map(stale_line).collect(),
            platform: platform::results(audit, plan),
            layers: layers::layers(audit, plan),
            like_stages: layers::like_stages(audit, plan),
            compared: false,
            cross_check: audit.cross_check.as_ref().map(|found| ReportCrossCheck {
                read: found.read,
                not_read: order::map(found.gave_up.iter().map(|(why, n)| ((*why).to_owned(), *n))),
            }),
            bindings: None,
        }
    }
}

/// The links to directories. `None` if the report does not list these links. The audit may still
/// have resolved them for a policy.
fn directory_links(audit: &Audit, plan: &Plan) -> Option<Vec<DirectoryLink>> {
    if !plan.lists_directory_links() {
        return None;
    }
    let link = |(path, target): &(PathBuf, PathBuf)| DirectoryLink {
        path: Arc::from(path.as_path()),
        target: Arc::from(target.as_path()),
    };
    Some(audit.linked.iter().map(link).collect())
}

fn run(rule: &Rule, plan: &Plan) -> RuleRun {
    RuleRun {
        id: rule.id.to_string(),
        group: rule.group.name.to_owned(),
        level: plan.policy.level_of(&rule.known()),
        input: rule.group.is_input,
    }
}

fn counts(triage: &Triage) -> Counts {
    let count = |counts: &dyn Fn(&Triaged) -> bool| {
        triage.findings.iter().filter(|judged| counts(judged)).count()
    };
    let is_input = |judged: &Triaged| judged.rule.group.is_input;
    Counts {
        errors: count(&|judged| !is_input(judged) && judged.level == Level::Error),
        warnings: count(&|judged| !is_input(judged) && judged.level == Level::Warning),
        incomplete: count(&is_input),
        waived: triage.waived.len(),
        waived_by_baseline: triage.waived.iter().filter(|waived| waived.by.baseline).count(),
        unused_elsewhere: triage.elsewhere,
    }
}

fn totals(audit: &Audit, triage: &Triage) -> Totals {
    let (totals, diagnosis) = (&audit.totals, &audit.diagnosis);
    let references = |assumed: &[Assumed]| assumed.iter().map(|one| one.references).sum::<usize>();
    let is_audited =
        |facts: &&FileFacts| facts.audited && facts.object().is_some() && facts.foreign().is_none();
    let foreign = totals.foreign.iter().map(|(kind, n)| ((*kind).to_owned(), *n));
    Totals {
        entries: totals.entries(),
        elf: totals.elf,
        archives: totals.archives,
        other: totals.other,
        links: totals.links,
        special: totals.special,
        partial: totals.partial,
        foreign: order::map(foreign),
        skipped: totals.skipped.clone(),
        roots: audit.closures.roots.len(),
        code_objects: audit.devices.code_objects(),
        explained: diagnosis.explained - triage.assumed,
        assumed: triage.assumed
            + references(&diagnosis.assumed)
            + references(&diagnosis.provided)
            + diagnosis.inferred.iter().map(|host| host.references).sum::<usize>(),
        assumed_by_host: order::map(
            diagnosis.assumed.iter().map(|host| (host.host.clone(), host.references)),
        ),
        audited: audit.corpus.files.iter().filter(is_audited).count(),
        audited_archives: audit.archives().count(),
        unread_archives: audit.unread_archives(),
    }
}

fn assumptions(audit: &Audit, triage: &Triage) -> Vec<Assumption> {
    let of = |by: AssumedBy| {
        move |assumed: &Assumed| Assumption {
            by,
            name: Some(assumed.host.clone()),
            references: assumed.references,
            files: Some(assumed.files),
            plugins: Vec::new(),
        }
    };
    let (by, references) = (AssumedBy::AcceptedMissingLibrary, triage.assumed);
    let accepted = Assumption { by, name: None, references, files: None, plugins: Vec::new() };
    let accepted = (references > 0).then_some(accepted);
    let hosts = audit.diagnosis.assumed.iter().map(of(AssumedBy::HostProgram));
    let provided = audit.diagnosis.provided.iter().map(of(AssumedBy::ProvidedLibrary));
    let inferred = audit.diagnosis.inferred.iter().map(|host| inferred(audit, host));
    accepted.into_iter().chain(hosts).chain(provided).chain(inferred).collect()
}

fn inferred(audit: &Audit, host: &InferredHost) -> Assumption {
    let path = |file: FileId| Arc::clone(&audit.corpus.files[file].path);
    let plugin = |path: Arc<Path>| {
        let pattern = escaped(&audit.prefixes.locate(&path).path);
        InferredPlugin { path, pattern }
    };
    Assumption {
        by: AssumedBy::InferredHost,
        name: Some(show_path(&path(host.program))),
        references: host.references,
        files: Some(host.plugins.len()),
        plugins: host.plugins.iter().map(|file| plugin(path(*file))).collect(),
    }
}

/// Escapes the characters that are special in a pattern.
fn escaped(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes().iter();
    let escaped = bytes.flat_map(|byte| {
        let special = b"*?[]{}\\".contains(byte).then_some(b'\\');
        special.into_iter().chain([*byte])
    });
    escaped.collect()
}

/// Names the causes of findings, and gives each cause an id.
struct Naming<'a> {
    prefixes: &'a Prefixes,
    definers: Definers,
    causes: FastMap<Arc<str>, (CauseKind, String)>,
    /// The file of each cause, keyed by the cause's id.
    files: FastMap<Arc<str>, PathBuf>,
}

impl<'a> Naming<'a> {
    fn new(prefixes: &'a Prefixes) -> Self {
        Self {
            prefixes,
            definers: Definers::default(),
            causes: FastMap::default(),
            files: FastMap::default(),
        }
    }

    fn finding(&mut self, judged: Triaged) -> ReportFinding {
        let Triaged { mut finding, level, fingerprint, .. } = judged;
        let hint = finding.cause.take();
        let mut out = ReportFinding::of(*finding, level, fingerprint);
        out.cause = self.cause(&out, hint.as_ref());
        out
    }

    fn cause(&mut self, finding: &ReportFinding, hint: Option<&CauseHint>) -> Arc<str> {
        let named = cause::name(finding, hint, self.prefixes, &self.definers);
        let id = self.free_id(&named);
        if let Some((id, _)) = self.causes.get_key_value(id.as_str()) {
            return Arc::clone(id);
        }
        let id: Arc<str> = id.into();
        let NamedCause { kind, title, file, .. } = named;
        self.files.extend(file.map(|file| (Arc::clone(&id), file)));
        self.causes.insert(Arc::clone(&id), (kind, title));
        id
    }

    /// The id of a cause. If another cause about another file has this id, a number is added.
    fn free_id(&self, named: &NamedCause) -> String {
        let first = named.id();
        let is_other = |id: &String| {
            self.files.get(id.as_str()).is_some_and(|file| Some(file) != named.file.as_ref())
        };
        let mut id = first.clone();
        let mut count = 1;
        while is_other(&id) {
            count += 1;
            id = format!("{first}#{count}");
        }
        id
    }
}

/// Waivers, keyed by the address of the applied waiver. Findings with the same waiver share one
/// copy.
#[derive(Default)]
struct Waivers(FastMap<usize, Arc<ReportWaiver>>);

impl Waivers {
    fn of(&mut self, by: &Arc<AppliedWaiver>) -> Arc<ReportWaiver> {
        let made =
            self.0.entry(Arc::as_ptr(by).addr()).or_insert_with(|| Arc::new(ReportWaiver::of(by)));
        Arc::clone(made)
    }
}

impl ReportWaiver {
    /// A waiver as reports show it.
    pub(crate) fn of(by: &AppliedWaiver) -> Self {
        Self {
            by: if by.baseline { WaivedBy::Baseline } else { WaivedBy::Policy },
            reason: by.reason.clone(),
            source: by.origin.source.to_string(),
            line: Some(by.origin.line).filter(|line| *line > 0),
            expires: by.expires.map(|day| day.to_string()),
        }
    }
}

fn stale_line(Stale { entry, gone, file }: Stale) -> StaleLine {
    let BaselineLine { line, fingerprint, rule, path, name, .. } = entry;
    StaleLine { line, fingerprint, rule, path, name, gone, file }
}

/// All ELF files that were read, in the order of their paths.
pub(super) fn objects(audit: &Audit) -> Vec<(FileId, &FileFacts, &Object)> {
    let files = audit.corpus.files.entries();
    let mut out: Vec<_> =
        files.filter_map(|(file, facts)| Some((file, facts, facts.object()?))).collect();
    out.arrange_by(|(_, a, _), (_, b, _)| a.path.as_os_str().cmp(b.path.as_os_str()));
    out
}

fn files(audit: &Audit) -> Vec<File> {
    let loaders = FirstLoader::new(&audit.closures);
    parallel::map(&objects(audit), |object| file(audit, &loaders, *object))
}

/// The needs of a file, resolved under the first entry point that loads it.
fn met(audit: &Audit, file: FileId, loaded: FirstLoad) -> Vec<ReportedNeed> {
    let closure = &audit.closures.roots[loaded.root];
    // The loader's trace mode may map the entry point a second time.
    let edges = if loaded.is_twice { closure.edges() } else { closure.needs(loaded.module) }.iter();
    let own = edges.filter(|edge| closure.module(edge.from).file == Some(file));
    let need = |edge: &Edge| {
        let module = closure.module(edge.to);
        ReportedNeed {
            name: audit.text(edge.raw).to_vec(),
            path: module.file.map(|_| audit.text(module.path).to_vec()),
            how: Cow::Borrowed(edge.how.name()),
        }
    };
    own.map(need).collect()
}

/// The needs of a file that no entry point loads: only their names are known.
fn declared(object: &Object) -> Vec<ReportedNeed> {
    let needs = object.needs.iter().map(|need| object.str(need.name).to_vec());
    needs.map(|name| ReportedNeed { name, path: None, how: Cow::Borrowed("missing") }).collect()
}

fn file(
    audit: &Audit,
    loaders: &FirstLoader,
    (file, facts, object): (FileId, &FileFacts, &Object),
) -> File {
    let string = |s: Option<Str>| s.map(|s| object.str(s).to_vec());
    let loaded = loaders.loaded(file);
    let root = loaded.map(|loaded| loaded.root);
    let root_file = |root| audit.closures.roots[root].root.file;
    let needed = match loaded {
        Some(loaded) => met(audit, file, loaded),
        None => declared(object),
    };
    File {
        path: Arc::clone(&facts.path),
        names: names(facts),
        soname: string(object.soname),
        root: root.map(|root| Arc::clone(&audit.corpus.files[root_file(root)].path)),
        needed,
        rpath: string(object.rpath),
        runpath: string(object.runpath),
        interpreter: string(object.interp),
        machine: machine::name(object.header.target()),
        kind: kind(object.role).map(Cow::Borrowed),
        first_version: first_version(object),
        prefix: prefix_of(audit, facts),
        origin: facts.origin.map(|origin| origin.name().into()),
        targets: targets(audit, file),
        exports: None,
        imports: None,
    }
}

fn first_version(object: &Object) -> Option<Vec<u8>> {
    let first = object.versions.defs.iter().find(|def| def.index == FIRST_VERSION)?;
    Some(object.str(first.name).to_vec())
}

/// The kind of a file that is neither a program nor a library.
fn kind(role: Role) -> Option<&'static str> {
    match role {
        Role::Relocatable => Some("relocatable"),
        Role::Core => Some("core"),
        Role::Debug => Some("debug"),
        // A broken file may be a damaged library.
        Role::Program | Role::Shared | Role::Static | Role::Device | Role::Broken => None,
    }
}

/// The links to an audited file; empty for a dependency.
fn names(facts: &FileFacts) -> Vec<Name<'static>> {
    let names = facts.names.iter().filter(|_| facts.audited);
    names.map(|name| Name(name.path.as_os_str().as_bytes().to_vec().into())).collect()
}

/// The GPU targets of a file's device code; empty without device code.
fn targets(audit: &Audit, file: FileId) -> Vec<String> {
    let offers = audit.devices.offers(Unit::File(file));
    offers.iter().map(|offer| offer.target.to_string()).collect()
}

/// The prefix of an audited file; `None` for a dependency and for a file outside of all prefixes.
fn prefix_of(audit: &Audit, facts: &FileFacts) -> Option<Arc<Path>> {
    let located = facts.audited.then(|| audit.prefixes.locate(&facts.path))?;
    located.prefix.map(Arc::from)
}

fn archives(audit: &Audit) -> Vec<AuditedArchive> {
    let lines = audit.archive_lines();
    let archive = |line: &crate::audit::CoverageLine| AuditedArchive {
        path: Arc::clone(&audit.corpus.files[line.file].path),
        members: line.counts.map(|(members, ..)| members),
        opaque: line.counts.map(|(_, opaque, _)| opaque),
        references: line.counts.map(|(.., references)| references),
    };
    lines.iter().map(archive).collect()
}
