//! `missing-version`: a needed version that the library does not define.

use super::rejected_candidates::lacking_version;
use super::words::typeable;
use super::{Query, Rule};
use crate::catalogue::LIBRARY;
use crate::diagnosis::MissingVersion;
use crate::finding::{Evidence, EvidenceKind, Findings, Rejection, When};
use crate::format::elf::Object;
use crate::id::FileId;
use crate::order::Arrange as _;
use crate::resolve::{Edge, is_of_glibc};
use crate::text::{common_parts, show, show_path};
use std::cmp::Reverse;

pub(super) static RULE: Rule = Rule::new(
    "missing-version",
    LIBRARY,
    "a library does not define a needed symbol version",
    DOCS,
    check,
)
.keys(&["version", "library"])
.of_all_loaded();

/// Maximum number of candidates of a finding.
const MOST_CANDIDATES: usize = 3;

const DOCS: &str = "\
## What it does

Compares every version that an object needs of a library (`.gnu.version_r`) with the versions that the
library defines (`.gnu.version_d`). The library is the file that the loader takes.

Other libraries of that name in the audited paths and in `--lib-path` are candidates if they define all versions that
the object needs. A need with a slash has no candidates, because the loader does not search for it. The libraries of
glibc have none either, because they work only with their own loader. If another object loaded the library first, the
reason of the candidate names that object.

## Why it matters

The program does not start: ``version `GLIBC_2.38' not found (required by …)``. The usual cause is a program
that was built on a newer system, or an older copy of a library that the loader finds first.

## Example

```text
error[missing-version] bin/app: version GLIBC_2.38: not found in /lib/x86_64-linux-gnu/libc.so.6
```

## How to fix

Build against the older library, or change the search path so that the loader finds the newer one.

## Limits

Weak needs, and needs of libraries without versions, are not reported: the loader prints a warning at most.
";

fn check(query: &Query<'_>) -> Findings {
    let versions = &query.missing_versions();
    versions
        .iter()
        .map(|missing| {
            let provider = query.path(missing.provider);
            let message =
                format!("version {}: not found in {}", show(&missing.version), show_path(provider));
            let mut finding = query.about(RULE.id, missing.file, message);
            finding.version = Some(missing.version.clone());
            finding.library = query
                .view()
                .object(missing.provider)
                .and_then(|object| object.soname().map(<[u8]>::to_vec));
            finding.root = query.first_root(&missing.roots);
            finding.when = Some(When::Load);
            finding.evidence.extend(query.roots(&missing.roots, Some(missing.site)));
            finding
                .evidence
                .push(Evidence::at(EvidenceKind::Provider, query.shared_path(missing.provider)));
            finding.evidence.extend(candidates(query, missing));
            let words = query.quoted(missing.provider).zip(typeable(&missing.version));
            finding.witness =
                words.map(|(file, name)| format!("readelf -V {file} | grep -w {name}"));
            finding
        })
        .collect()
}

/// The libraries with the name of the provider that define all versions that the object needs from
/// it, the one nearest to the object first. Empty if another order of directories does not help.
fn candidates(query: &Query<'_>, missing: &MissingVersion) -> Vec<Evidence> {
    let closure = query.closure(missing.site.root);
    let is_provider = |edge: &&Edge| closure.module(edge.to).file == Some(missing.provider);
    let edge = closure.needs(missing.site.module).iter().find(is_provider);
    let name = edge.map_or(query.library_name(missing.provider), |edge| query.text(edge.raw));
    // The loader does not search for a name with a slash. It works only with the C library of the
    // same build.
    if name.contains(&b'/') || is_of_glibc(name) {
        return Vec::new();
    }
    let Some(user) = query.view().object(missing.file) else { return Vec::new() };
    let first = edge.and_then(|edge| closure.module(edge.to).requester);
    let first = first.and_then(|module| closure.module(module).file);
    let first = first.filter(|file| *file != missing.file);
    let all = [Some(user), first.and_then(|file| query.view().object(file))];
    let defines = |file: &FileId| {
        let Some(object) = query.facts(*file).object() else { return false };
        let fits = |user: &Object| lacking_version(user, name, object).is_none();
        *file != missing.provider
            && object.header.target().links_with(user.header.target())
            && object.versions.defs.iter().any(|one| object.str(one.name) == missing.version)
            && all.into_iter().flatten().all(fits)
    };
    let named = query.libraries_named(query.library_name(missing.provider)).iter().copied();
    let mut files: Vec<FileId> = named.filter(defines).collect();
    let near = |file: &FileId| common_parts(query.path(missing.file), query.path(*file));
    files.arrange_by_key(|file| (Reverse(near(file)), query.path(*file)));
    let taken = match first {
        None => Rejection::TakesAnother.words().to_owned(),
        Some(first) => {
            format!("but the loader takes the file that {} loads", show_path(query.path(first)))
        }
    };
    let reason = format!("defines {}, {taken}", show(&missing.version));
    let evidence = |file: FileId| Evidence {
        reason: Some(reason.clone()),
        ..Evidence::at(EvidenceKind::Candidate, query.shared_path(file))
    };
    files.into_iter().take(MOST_CANDIDATES).map(evidence).collect()
}
