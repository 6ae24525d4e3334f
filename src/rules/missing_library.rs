//! `missing-library`: a needed library, or the interpreter of a program, is not found.

use super::rejected_candidates::Need;
use super::words::{passed_over, tried};
use super::{Query, Rule};
use crate::catalogue::{LIBRARY, RuleId};
use crate::diagnosis::{MissingLibrary, Site};
use crate::finding::{CauseHint, Evidence, EvidenceKind, Finding, Findings, When};
use crate::parallel;
use crate::resolve::loader::InterpreterDefect;
use crate::resolve::trace::Tried;
use crate::text::show;
use crate::wants::Wants;
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
.wants(Wants::NAMES_IN_PREFIX.and(Wants::INSTALLED))
.explaining();

/// `detail` of a finding about a missing library if the prefix of the object has a file with the
/// needed name.
const IN_PREFIX: &[u8] = b"candidate-in-prefix";

const DOCS: &str = "\
## What it does

Resolves every DT_NEEDED and DT_FILTER in the loader's order: objects that are already loaded, RPATH,
`--ld-library-path`, RUNPATH, ld.so.cache, default directories. Reports each name that is not found, and each
program whose PT_INTERP does not exist (not with `--as-ldd`, because `ldd` ignores it).

## Why it matters

The program does not start: `error while loading shared libraries: …: cannot open shared object file`. If
the interpreter is missing, the kernel reports `No such file or directory` for a program that exists.

## Example

```text
error[missing-library] libfoo.so.1: not found
  needed by  lib/libapp.so
  tried      /opt/app/lib/libfoo.so.1 (RUNPATH): no such file or directory
             /etc/ld.so.cache: no entry
             /lib, /usr/lib (default directories): no such file or directory
  candidate  /opt/app/lib64/libfoo.so.1: its directory is not searched
  help: add $ORIGIN/../lib64 to the RUNPATH of lib/libapp.so; for a verified script:
            linkaudit fix /opt/app --emit patchelf
```

## How to fix

Install the package that has the library. Or add the library's directory to the RUNPATH of the object that
needs it; the RUNPATH of the program is not enough. A RUNPATH serves only the object that has it. An RPATH
also serves the libraries that the object loads, unless they have a RUNPATH. If the object has or inherits an RPATH,
add the directory as an RPATH: a new RUNPATH turns off the inherited one. `linkaudit fix` verifies the entry and
writes a script that sets it with `patchelf`. It refuses files that `patchelf` would damage, such as AppImages.

The loader may fail to open a path for a reason other than absence or permission, such as a loop of links. It then skips
the rest of that list of directories. Repair that path: a new entry at the end of the list has no effect.

A `candidate` is a file of that name in the object's prefix or below `--lib-path`, with the reason why the
loader did not take it. If the prefix contains a file of that name, the `detail` of the finding is
`candidate-in-prefix`. Findings with and without this `detail` have different fingerprints: a baseline
line for one does not waive the other.

An `installed` file has the needed name and belongs to an installed Debian package, but lies outside of the
directories that the loader searches. A `removed` file belongs to an installed package and does not exist: install
the package again. A file that needs a C library other than that of the process is skipped.

## Limits

Libraries that a program loads with dlopen are not checked. LD_LIBRARY_PATH and LD_PRELOAD are not taken from the
environment: use `--ld-library-path` and `--ld-preload`. `missing-preload` reports libraries of `--ld-preload`.
References that only a missing library could define are not findings of their own: the finding about the library lists
them under `explains`.
";

fn check(query: &Query<'_>) -> Findings {
    let missing: Vec<_> = query
        .missing()
        .into_iter()
        .filter(|(missing, tried)| !passed_over(tried) && !query.is_outside(missing))
        .collect();
    let mut out: Findings = parallel::map(&missing, |(missing, tried)| {
        let name = show(&missing.name);
        let message = format!("{name}: not found by the loader");
        let mut finding = finding(query, RULE.id, missing, (tried, message));
        finding.detail = query.lies_in_prefix(missing).then(|| IN_PREFIX.to_vec());
        finding
    });
    out.extend(interpreters(query));
    out
}

/// A finding of `rule` about one missing library, with the paths that the loader tried.
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
        let mut candidates = query.library_candidates(&missing.name, target);
        candidates.extend(query.unaudited_candidates(missing, target));
        if let Some(root) = missing.roots.first().filter(|_| candidates.is_empty()) {
            let libc = query.loader(query.closure(*root)).libc();
            candidates = query.installed_libraries(&missing.name, target, libc);
        }
        let need = Need {
            file: missing.file,
            name: &missing.name,
            roots: &missing.roots,
            module: missing.edge.from,
        };
        finding.evidence.extend(query.with_reasons(need, candidates, attempts));
    }
    finding.evidence.extend(missing.explained.iter().map(|(file, symbol, version)| Evidence {
        symbol: Some(symbol.clone()),
        version: version.clone(),
        ..Evidence::at(EvidenceKind::Explained, query.shared_path(*file))
    }));
    // Saves memory, because a run may have a hundred thousand findings.
    finding.evidence.shrink_to_fit();
    let file = query.quoted(missing.file);
    finding.witness = file.map(|file| format!("readelf -d {file} | grep NEEDED"));
    finding
}

fn interpreters(query: &Query<'_>) -> Findings {
    // If the policy has a whitelist, `outside-closure` reports a missing interpreter.
    let is_open = !query.policy().is_closed();
    interpreters_with(query, RULE.id, |fault| {
        (fault == InterpreterDefect::Absent && is_open).then(|| "not found".to_owned())
    })
}

/// Findings of `rule` about interpreters. `word` gives the message for a defect, or `None` if the
/// rule does not report the defect.
pub(super) fn interpreters_with(
    query: &Query<'_>,
    rule: RuleId,
    word: impl Fn(InterpreterDefect) -> Option<String>,
) -> Findings {
    let mut out: Findings = Vec::new();
    for (file, fault) in query.bad_interpreters() {
        let interp = query.view().object(*file).and_then(|object| object.interp());
        let (Some(interp), Some(words)) = (interp, word(*fault)) else { continue };
        let message = format!("interpreter {}: {words}", show(interp));
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
