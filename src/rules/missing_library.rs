//! `missing-library`: a need, or a program's interpreter, that leads nowhere.

use super::words::{passed_over, tried};
use super::{Query, Rule};
use crate::blame::{MissingLibrary, Site};
use crate::catalogue::{LIBRARY, RuleId};
use crate::finding::{CauseHint, Evidence, EvidenceKind, Finding, Findings, When};
use crate::id::RootId;
use crate::resolve::loader::InterpFault;
use crate::resolve::trace::Tried;
use crate::text::show;
use crate::wants::Wants;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

pub(super) static RULE: Rule = Rule::new(
    "missing-library",
    LIBRARY,
    "the loader finds no file for a needed library or interpreter",
    DOCS,
    check,
)
.keys(&["library", "detail"])
.of_all_loaded()
.wants(Wants::NAMES_IN_PREFIX)
.explaining();

/// `detail` of a missing library whose file name exists in the prefix.
const IN_PREFIX: &[u8] = b"candidate-in-prefix";

const DOCS: &str = "\
## What it does

Follows every DT_NEEDED (and DT_FILTER) of every root in the order of the loader: objects that are
already loaded, RPATH, `--ld-library-path`, RUNPATH, ld.so.cache, default directories. Reports each
name for which nothing is found, each library to preload that cannot be, and each program whose
PT_INTERP leads nowhere (not under `--as-ldd`, because `ldd` does not look at it).

## Why it matters

The program does not start: `error while loading shared libraries: …: cannot open shared object
file`. A missing interpreter makes the kernel answer `No such file or directory` for a file that
plainly is there.

## Example

```text
error[missing-library] lib/libapp.so needs libfoo.so.1, which the loader does not find
    tried   /opt/app/lib/libfoo.so.1 (runpath): no such file or directory
    at hand /opt/app/lib64/libfoo.so.1
```

## How to fix

Install the package that has the library, or give the object that needs it (not only the program) a
RUNPATH with the library's directory. A RUNPATH helps only the object that has it; an RPATH also
helps what that object loads, unless that has a RUNPATH of its own. `at hand` names files of the
audited prefix or of `--lib-path` that answer to the name.

If the prefix contains a file of the library's name, audited or not, the finding's `detail` is
`candidate-in-prefix`. A library without such a file gives another finding, with its own
fingerprint: a baseline line for one does not waive the other.

## Limits

Libraries that a program loads with dlopen are not needs and are not looked for. The environment is
never read: what LD_LIBRARY_PATH and LD_PRELOAD will be is said with options. References that only a
missing library could satisfy are counted with it as `explained` and are no findings of their own.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out: Findings = query
        .missing()
        .into_par_iter()
        .filter(|(missing, tried)| !passed_over(tried) && !query.is_outside(missing))
        .map(|(missing, tried)| {
            let name = show(&missing.name);
            let message = format!("needs {name}, which the loader does not find");
            let mut finding = finding(query, RULE.id, missing, (tried, message));
            finding.detail = query.lies_in_prefix(missing).then(|| IN_PREFIX.to_vec());
            finding
        })
        .collect();
    out.extend(interpreters(query));
    out.extend(preloads(query));
    out
}

/// What LD_PRELOAD or ld.so.preload names in vain: the loader says so and goes on.
fn preloads(query: &Query<'_>) -> Findings {
    let mut failures: BTreeMap<(&[u8], &str, &str), Vec<RootId>> = BTreeMap::new();
    for (root, closure) in query.entry_points() {
        for failure in closure.preload_failures() {
            let name = query.text(failure.name);
            failures.entry((name, failure.source, failure.text)).or_default().push(root);
        }
    }
    let finding = |((name, source, text), roots): ((&[u8], &'static str, &str), Vec<RootId>)| {
        let first = query.closure(*roots.first()?).root.file;
        let message =
            format!("{source} names {}, which the loader passes over: {text}", show(name));
        let mut finding = query.about(RULE.id, first, message);
        finding.library = Some(name.to_vec());
        finding.cause = Some(CauseHint::LibraryNotFound(name.to_vec()));
        finding.detail = Some(source.as_bytes().to_vec());
        finding.root = query.first_root(&roots);
        finding.evidence.extend(query.roots(&roots, None));
        Some(finding)
    };
    failures.into_iter().filter_map(finding).collect()
}

/// The finding for one missing library, by the paths tried and the message; other rules word their
/// own with it.
pub(super) fn finding(
    query: &Query<'_>,
    rule: RuleId,
    missing: &MissingLibrary,
    (attempts, message): (&[Tried], String),
) -> Box<Finding> {
    let mut finding = query.about(rule, missing.file, message);
    finding.library = Some(missing.name.clone());
    finding.cause = Some(CauseHint::LibraryNotFound(missing.name.clone()));
    finding.root = query.first_root(&missing.roots);
    finding.when = Some(When::Load);
    let site = missing.roots.first().map(|root| Site { root: *root, module: missing.edge.from });
    finding.evidence.extend(query.roots(&missing.roots, site));
    finding.evidence.extend(attempts.iter().map(tried));
    if let Some(object) = query.view().object(missing.file) {
        let target = object.header.target();
        finding.evidence.extend(query.library_candidates(&missing.name, target));
    }
    finding.evidence.extend(missing.explained.iter().map(|(file, symbol, version)| Evidence {
        symbol: Some(symbol.clone()),
        version: version.clone(),
        ..Evidence::at(EvidenceKind::Explained, query.shared_path(*file))
    }));
    let file = query.quoted(missing.file);
    finding.witness = file.map(|file| format!("readelf -d {file} | grep NEEDED"));
    finding
}

fn interpreters(query: &Query<'_>) -> Findings {
    // Under a whitelist it is a matter of that.
    let is_open = !query.policy().is_closed();
    interpreters_with(query, RULE.id, |fault| {
        (fault == InterpFault::Absent && is_open).then(|| "is not there".to_owned())
    })
}

/// Findings about interpreters whose fault `word` has words for; used by the rules of the group.
pub(super) fn interpreters_with(
    query: &Query<'_>,
    rule: RuleId,
    word: impl Fn(InterpFault) -> Option<String>,
) -> Findings {
    let mut out: Findings = Vec::new();
    for (file, fault) in query.bad_interpreters() {
        let interp = query.view().object(*file).and_then(|object| object.interp());
        let (Some(interp), Some(words)) = (interp, word(*fault)) else { continue };
        let message = format!("has the interpreter {}, which {words}", show(interp));
        let mut finding = query.about(rule, *file, message);
        finding.library = Some(interp.to_vec());
        finding.cause = Some(CauseHint::LibraryNotFound(interp.to_vec()));
        finding.root = Some(query.shared_path(*file));
        finding.when = Some(When::Load);
        finding.detail = Some(b"PT_INTERP".to_vec());
        finding.evidence.push(Evidence::at(EvidenceKind::Root, query.shared_path(*file)));
        finding.evidence.push(Evidence {
            reason: Some(words),
            ..Evidence::at(EvidenceKind::Tried, Path::new(OsStr::from_bytes(interp)).into())
        });
        let quoted = query.quoted(*file);
        finding.witness = quoted.map(|file| format!("readelf -l {file} | grep interpreter"));
        out.push(finding);
    }
    out.dedup_by(|b, a| a.file == b.file);
    out
}
