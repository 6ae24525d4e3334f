//! Facts that a run did not decide: files that were read or loaded only partly, and references that
//! a missing library explains. The run cannot know if a finding about an undecided fact is gone.

use crate::audit::Audit;
use crate::format::elf::Object;
use crate::id::{FastMap, FastSet, FileId, IdSet};
use crate::plan::Plan;
use crate::policy::{Pattern, Waiver};

/// Symbols or libraries, by the file that names them.
type NamesByFile = FastMap<FileId, FastSet<Vec<u8>>>;

/// The facts that a run did not decide.
#[derive(Default)]
pub(super) struct UndecidedFacts {
    /// Files that were read only in part.
    pub(super) partial: FastSet<FileId>,
    /// Dynamic objects that no entry point loads, and the objects of each uncertain closure. A
    /// closure is uncertain if its loader does not exist or stops. It is also uncertain if it
    /// depends on an unknown processor or working directory, or on a path that leads to a different
    /// file in each process.
    not_loaded: FastSet<FileId>,
    /// References that a missing library explains, as `symbol` or `symbol@version`, by the file
    /// that has the reference.
    explained: NamesByFile,
    /// Libraries that were not found, by the file that needs them.
    missing: NamesByFile,
}

/// True if `name` is `subject`, or `subject` with a version after `@`.
fn begins(name: &[u8], subject: &[u8]) -> bool {
    name.strip_prefix(subject).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"@"))
}

/// True if `object` may still have a finding of `rule`: the object names a symbol or library for
/// which `is_name` is true. Always true for rules that are about neither symbols nor libraries.
fn names_any(object: &Object, rule: &str, is_name: impl Fn(&[u8]) -> bool) -> bool {
    let needs = || object.needs.iter().map(|need| object.str(need.name)).chain(object.interp());
    let versions = || object.versions.needs.iter().map(|need| object.str(need.file));
    match rule {
        "undefined-symbol" => {
            object.references.iter().any(|reference| is_name(object.reference_name(reference)))
        }
        "missing-library" | "outside-closure" | "wrong-architecture" => needs().any(is_name),
        "missing-version" => versions().any(is_name),
        _ => true,
    }
}

/// True if `object` may still have the finding of a line with this `name`.
pub(super) fn may_have(object: &Object, rule: &str, name: &[u8]) -> bool {
    names_any(object, rule, |subject| begins(name, subject))
}

/// True if `object` may still have a finding that `waiver` matches.
fn may_match(object: &Object, waiver: &Waiver) -> bool {
    let pattern = match &*waiver.rule {
        "undefined-symbol" => &waiver.symbol,
        _ => &waiver.library,
    };
    let fits = |subject: &[u8]| pattern.as_ref().is_none_or(|pattern| pattern.matches(subject));
    names_any(object, &waiver.rule, fits)
}

impl UndecidedFacts {
    pub(super) fn of(audit: &Audit, plan: &Plan) -> Self {
        let mut out = Self { not_loaded: not_loaded(audit, plan), ..Self::default() };
        out.partial.extend(audit.left_out().iter().map(|left_out| left_out.file));
        for (file, facts) in audit.corpus.files.entries() {
            if facts.unreadable.is_some() || facts.all_defects().next().is_some() {
                out.partial.insert(file);
            }
        }
        for missing in &audit.diagnosis.missing {
            out.missing.entry(missing.file).or_default().insert(missing.name.clone());
            for (file, symbol, version) in &missing.explained {
                let version = version.iter().flat_map(|version| [&b"@"[..], version]);
                let name = [&**symbol].into_iter().chain(version).collect::<Vec<_>>().concat();
                out.explained.entry(*file).or_default().insert(name);
            }
        }
        out
    }

    /// True if the run cannot decide if the finding of a baseline line still occurs. The line is
    /// about `name` in `file`, and the result of `rule` depends on the entry points.
    pub(super) fn leaves_open(&self, file: FileId, rule: &str, name: &[u8]) -> bool {
        let has = |facts: &NamesByFile, name: &[u8]| {
            facts.get(&file).is_some_and(|own| own.contains(name))
        };
        self.not_loaded.contains(&file)
            || match rule {
                "undefined-symbol" => has(&self.explained, name),
                "missing-version" => {
                    let library = name.split(|byte| *byte == b'@').next();
                    library.is_some_and(|library| has(&self.missing, library))
                }
                _ => false,
            }
    }

    /// True if the run does not decide a finding about `file` that `waiver` could match.
    /// `in_company` is true if the result of the rule depends on the entry points.
    pub(super) fn hides(
        &self,
        file: FileId,
        object: Option<&Object>,
        waiver: &Waiver,
        in_company: bool,
    ) -> bool {
        let fits = |pattern: &Option<Pattern>, name: &[u8]| {
            let subject = name.split(|byte| *byte == b'@').next().unwrap_or_default();
            pattern.as_ref().is_none_or(|pattern| pattern.matches(subject))
        };
        let among = |facts: &NamesByFile, pattern: &Option<Pattern>| {
            facts.get(&file).is_some_and(|own| own.iter().any(|name| fits(pattern, name)))
        };
        let by_process = || {
            let may_match = |object| may_match(object, waiver);
            self.not_loaded.contains(&file) && object.is_none_or(may_match)
        };
        let by_missing = || match &*waiver.rule {
            "undefined-symbol" => among(&self.explained, &waiver.symbol),
            "missing-version" => among(&self.missing, &waiver.library),
            _ => false,
        };
        self.partial.contains(&file) || in_company && (by_process() || by_missing())
    }

    /// Files with undecided facts.
    pub(super) fn files(&self) -> FastSet<FileId> {
        let facts = self.explained.keys().chain(self.missing.keys());
        self.partial.iter().chain(&self.not_loaded).chain(facts).copied().collect()
    }
}

/// See [`UndecidedFacts::not_loaded`].
fn not_loaded(audit: &Audit, plan: &Plan) -> FastSet<FileId> {
    let mut stopped = IdSet::default();
    stopped.extend(audit.diagnosis.stopped.iter().flat_map(|stop| stop.roots.iter().copied()));
    let mut loaded = IdSet::default();
    let mut out = FastSet::default();
    for (root, closure) in audit.closures.roots.entries() {
        let by_machine = closure.by_cpu() && !plan.cpu_stated
            || closure.by_cwd() && !plan.cwd_stated
            || closure.by_process();
        let files = closure.in_scope().map(|(_, file)| file);
        if stopped.contains(root) || by_machine || audit.loader(root).is_absent {
            out.extend(files);
        } else {
            loaded.extend(files);
        }
    }
    let objects = audit.corpus.files.entries().filter(|(_, facts)| facts.audited);
    let objects = objects.filter(|(_, f)| f.object().is_some_and(Object::is_dynamic));
    out.extend(objects.map(|(file, _)| file).filter(|file| !loaded.contains(*file)));
    out
}
