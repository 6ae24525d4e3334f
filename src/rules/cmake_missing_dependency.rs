//! `cmake-missing-dependency`: a CMake package needs another package that is not found.

use super::{Query, Rule};
use crate::catalogue::PACKAGE_TEXT;
use crate::cmake::{EventKind, FindResult};
use crate::finding::Findings;
use crate::text::show;
use crate::wants::Wants;

pub(super) static RULE: Rule = Rule::new(
    "cmake-missing-dependency",
    PACKAGE_TEXT,
    "a CMake package requires a package that is not found",
    DOCS,
    check,
)
.keys(&["library"])
.wants(Wants::CMAKE);

const DOCS: &str = "\
## What it does

Reports `find_dependency` and `find_package(… REQUIRED)` in configuration files if CMake finds no configuration file
of the required package. linkaudit searches the prefix of the requiring package, the audited directories, those of
`--lib-path`, and `/usr`.

## Why it matters

`find_package` does not find a package whose dependency is missing. With QUIET, it does not name the dependency.

## Example

```text
warning[cmake-missing-dependency] lib/cmake/foo/fooConfig.cmake: bar: no barConfig.cmake or bar-config.cmake
(line 7)
```

## How to fix

Let the development package depend on the one that has the configuration file. If that package is installed
elsewhere on purpose, name its directory with `--lib-path`.

## Limits

The finding is a warning at most: a user may name a directory with CMAKE_PREFIX_PATH. Packages for which CMake or
the requiring package has a module (`FindZLIB`) are not checked.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = query.about_cmake(RULE.id, |event| {
        let EventKind::Dependency { wanted, found: FindResult::Absent } = &event.kind else {
            return None;
        };
        let (name, line) = (show(&wanted.name), event.site.line);
        let lower = name.to_ascii_lowercase();
        let message =
            format!("{name}: no {name}Config.cmake or {lower}-config.cmake (line {line})");
        Some((message, wanted.name.clone()))
    });
    for finding in &mut out {
        finding.library = finding.detail.take();
        finding.mild = true;
    }
    out
}
