//! `symbol-version-too-new`: a file needs a symbol version that the oldest supported system lacks.

use super::demand::{arch, by_policy, place};
use super::words::typeable;
use super::{Query, Rule};
use crate::catalogue::{POLICY, RuleId};
use crate::finding::{Evidence, EvidenceKind, Finding, Findings};
use crate::format::elf::{Object, VersionNeed};
use crate::id::FileId;
use crate::policy::{Libc, VersionLimit};
use crate::text::show;

pub(super) static RULE: Rule = Rule::new(
    "symbol-version-too-new",
    POLICY,
    "a file needs a newer symbol version than a policy allows",
    DOCS,
    check,
)
.keys(&["version", "library"])
.asked_if(|plan| !plan.policy.version_limits.is_empty() || !plan.policy.platforms.is_empty());

const DOCS: &str = "\
## What it does

Compares every version that an audited object needs (`.gnu.version_r`) with `[limits.symbol-versions]`.
`GLIBC = \"2.17\"` allows the versions of glibc 2.17 and older. Versions are compared number by number. The
evidence names the symbols that need the version.

## Why it matters

A program that is built on a new system needs versions that older systems lack, and does not start there.

## Example

```text
error[symbol-version-too-new] bin/app: needs GLIBC_2.34 of libc.so.6; linkaudit.toml:5 allows 2.17
```

## How to fix

Build on the oldest system that you support, or against its C library.

## Limits

Weak needs are skipped, as by the loader. Under a platform such as `manylinux_2_28`, which lists the versions of its
libraries, weak needs count. `GLIBC_PRIVATE` is too new for every limit, because it belongs to one build of glibc.
`GLIBC_ABI_DT_RELR` counts as glibc 2.36. If a policy limits a family, a version of that family without a number cannot
be compared: it is `undecided`.
";

/// The relation of a needed version to a limit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LimitResult {
    /// The version is of another family, or the limit allows it.
    Fine,
    TooNew,
    /// The version has no number, so it cannot be compared.
    Unknown,
}

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    each(query, LimitResult::TooNew, |file, object, (library, need), limit| {
        let version = object.str(need.name);
        let (name, library) = (show(version), object.str(library));
        let (place, newest) = (place(&limit.origin), number(&limit.newest));
        let library_name = show(library);
        let message = match limit.listed {
            Some(_) => format!("needs {name} of {library_name}, which {place} does not have"),
            None => format!("needs {name} of {library_name}; {place} allows {newest}"),
        };
        let mut finding = about(query, RULE.id, file, message, (object, need.index), limit);
        finding.version = Some(version.to_vec());
        finding.library = Some(library.to_vec());
        let words = query.quoted(file).zip(typeable(version));
        finding.witness = words.map(|(file, name)| format!("readelf -V {file} | grep -w {name}"));
        out.push(finding);
    });
    out
}

/// Findings of `rule` about needed versions that cannot be compared, because they have no number.
pub(super) fn unanswered(query: &Query<'_>, rule: RuleId) -> Findings {
    let mut out = Findings::new();
    each(query, LimitResult::Unknown, |file, object, (library, need), limit| {
        let version = object.str(need.name);
        let (name, place) = (show(version), place(&limit.origin));
        let newest = number(&limit.newest);
        let message =
            format!("needs {name}, which has no number to compare with {newest} ({place})");
        let mut finding = about(query, rule, file, message, (object, need.index), limit);
        finding.version = Some(version.to_vec());
        finding.library = Some(object.str(library).to_vec());
        out.push(finding);
    });
    out
}

/// A library, and one of the versions that an object needs from it.
type LibraryVersion<'o> = (crate::format::elf::Str, &'o VersionNeed);

/// Compares each needed version with the limits for its file. For each version, calls `visit` with
/// the first limit for which the result of the comparison is `answer`.
fn each<'a>(
    query: &Query<'a>,
    answer: LimitResult,
    mut visit: impl FnMut(FileId, &'a Object, LibraryVersion<'a>, &'a VersionLimit),
) {
    for (file, object) in query.audited_objects() {
        let limits: Vec<_> = query.policy().limits_for(arch(object)).collect();
        for library in object.versions.needs.iter().filter(|_| !limits.is_empty()) {
            // Platforms do not list the versions of loaders.
            let of_loader = Libc::Glibc.has_loader(object.str(library.file));
            for need in &library.versions {
                let version = object.str(need.name);
                let counts = |limit: &VersionLimit| match limit.listed {
                    Some(_) => !of_loader,
                    None => !need.weak,
                };
                let mut limits = limits.iter().filter(|limit| counts(limit));
                if let Some(limit) = limits.find(|limit| held(version, limit) == answer) {
                    visit(file, object, (library.file, need), limit);
                }
            }
        }
    }
}

fn held(version: &[u8], limit: &VersionLimit) -> LimitResult {
    let number = version.strip_prefix(limit.family.as_bytes()).and_then(|v| v.strip_prefix(b"_"));
    let Some(number) = number else { return LimitResult::Fine };
    if let Some(is_listed) = limit.lists(version) {
        return if is_listed { LimitResult::Fine } else { LimitResult::TooNew };
    }
    let parts: Option<Vec<u32>> = match version {
        // elf/dl-version.c has handled this version since glibc 2.36.
        b"GLIBC_ABI_DT_RELR" => Some(vec![2, 36]),
        b"GLIBC_PRIVATE" => return LimitResult::TooNew,
        _ => number.split(|b| matches!(b, b'.' | b'_')).map(digits).collect(),
    };
    match parts {
        Some(parts) if trimmed(&parts) > trimmed(&limit.newest) => LimitResult::TooNew,
        Some(_) => LimitResult::Fine,
        None => LimitResult::Unknown,
    }
}

fn digits(part: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(part).ok().filter(|text| !text.starts_with('+'))?;
    text.parse().ok()
}

/// Drops trailing zeros: `2.17.0` becomes `2.17`.
fn trimmed(parts: &[u32]) -> &[u32] {
    &parts[..parts.iter().rposition(|part| *part != 0).map_or(0, |at| at + 1)]
}

fn number(parts: &[u32]) -> String {
    parts.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
}

fn about(
    query: &Query<'_>,
    rule: RuleId,
    file: FileId,
    message: String,
    (object, index): (&Object, u16),
    limit: &VersionLimit,
) -> Box<Finding> {
    let mut finding = query.about(rule, file, message);
    let of_version = object.references.iter().filter(|reference| reference.version == index);
    finding.evidence.extend(of_version.map(|reference| Evidence {
        symbol: Some(object.reference_name(reference).to_vec()),
        ..Evidence::at(EvidenceKind::Reference, query.shared_path(file))
    }));
    let key = format!("limits.symbol-versions {}", limit.family);
    by_policy(&mut finding, key, &limit.origin);
    finding
}
