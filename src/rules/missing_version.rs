//! `missing-version`: a needed version that the library does not define.

use super::words::typeable;
use super::{Query, Rule};
use crate::catalogue::LIBRARY;
use crate::diagnosis::MissingVersion;
use crate::finding::{Evidence, EvidenceKind, Findings, When};
use crate::id::FileId;
use crate::order::Arrange as _;
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
library defines (`.gnu.version_d`). The library is the file that the loader takes. Other libraries of that name in the
audited paths and in `--lib-path` that define the version are candidates.

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

/// The libraries with the name of the provider that define the version, the one nearest to the
/// object first.
fn candidates(query: &Query<'_>, missing: &MissingVersion) -> Vec<Evidence> {
    let target = query.facts(missing.file).object().map(|object| object.header.target());
    let defines = |file: &FileId| {
        let Some((object, target)) = query.facts(*file).object().zip(target) else { return false };
        let mut versions = object.versions.defs.iter();
        *file != missing.provider
            && object.header.target().links_with(target)
            && versions.any(|version| object.str(version.name) == missing.version)
    };
    let named = query.libraries_named(query.library_name(missing.provider)).iter().copied();
    let mut files: Vec<FileId> = named.filter(defines).collect();
    let near = |file: &FileId| common_parts(query.path(missing.file), query.path(*file));
    files.arrange_by_key(|file| (Reverse(near(file)), query.path(*file)));
    let reason = format!("defines {}, but the loader takes another file", show(&missing.version));
    let evidence = |file: FileId| Evidence {
        reason: Some(reason.clone()),
        ..Evidence::at(EvidenceKind::Candidate, query.shared_path(file))
    };
    files.into_iter().take(MOST_CANDIDATES).map(evidence).collect()
}
