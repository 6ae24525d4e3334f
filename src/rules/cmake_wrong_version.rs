//! `cmake-wrong-version`: a CMake package requires another package in a version that is not found.

use super::{Query, Rule};
use crate::catalogue::PACKAGE_TEXT;
use crate::cmake::{EventKind, FindResult};
use crate::finding::Findings;
use crate::text::show;
use crate::wants::Wants;

pub(super) static RULE: Rule = Rule::new(
    "cmake-wrong-version",
    PACKAGE_TEXT,
    "a CMake package requires a version that is not found",
    DOCS,
    check,
)
.keys(&["library", "version"])
.wants(Wants::CMAKE);

const DOCS: &str = "\
## What it does

Reports a required version (`find_dependency(bar 2.0)`) if the version file (`barConfigVersion.cmake`) of every
package with that name refuses it.

## Why it matters

`find_package` does not find a package whose dependency has another version.

## Example

```text
error[cmake-wrong-version] lib/cmake/foo/fooConfig.cmake: bar 2.0 is required, and the version found is 1.9
(line 7)
```

## How to fix

Install the version that is required, or correct the requirement. A version file may be stricter than the library:
`SameMinorVersion` refuses 2.1 for a request of 2.0.

## Limits

Ranges of versions are not checked. A version file that could not be evaluated is assumed to accept the request.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = query.about_cmake(RULE.id, |event| {
        let EventKind::Dependency { wanted, found } = &event.kind else { return None };
        let FindResult::OtherVersion { version, .. } = found else { return None };
        let wanted_version = wanted.version.clone().unwrap_or_default();
        let (name, line) = (show(&wanted.name), event.site.line);
        let wants = show(&wanted_version);
        let has = if version.is_empty() { "not known".to_owned() } else { show(version) };
        let message =
            format!("{name} {wants} is required, and the version found is {has} (line {line})");
        Some((message, [&wanted.name[..], b" ", &wanted_version].concat()))
    });
    for finding in &mut out {
        let detail = finding.detail.take().unwrap_or_default();
        let mut parts = detail.splitn(2, |b| *b == b' ').map(<[u8]>::to_vec);
        (finding.library, finding.version) = (parts.next(), parts.next());
    }
    out
}
