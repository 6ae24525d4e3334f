//! `cmake-missing-file`: a CMake package includes, imports or checks a file that does not exist.

use super::{Query, Rule};
use crate::catalogue::PACKAGE_TEXT;
use crate::cmake::EventKind;
use crate::finding::Findings;
use crate::text::{show, show_path};
use crate::wants::Wants;

pub(super) static RULE: Rule = Rule::new(
    "cmake-missing-file",
    PACKAGE_TEXT,
    "a CMake package names a file or directory that does not exist",
    DOCS,
    check,
)
.keys(&["detail"])
.wants(Wants::CMAKE);

const DOCS: &str = "\
## What it does

Evaluates the configuration files (`*Config.cmake`, `*-config.cmake`) that `find_package` can find, and the files
that they include, as CMake would on the audited system. Reports paths that do not exist: included files, the
files and directories of imported targets (`IMPORTED_LOCATION`, `INTERFACE_INCLUDE_DIRECTORIES`,
`INTERFACE_LINK_LIBRARIES`) and files that the package checks itself. Nothing is executed.

## Why it matters

Other packages fail at `find_package` or when they are linked. The defect is noticed only when such a package is
built, often much later.

## Example

```text
error[cmake-missing-file] lib/cmake/foo/fooTargets-release.cmake: target foo::foo, IMPORTED_LOCATION_RELEASE:
lib/libfoo.so.1.2, which does not exist (line 12)
```

## How to fix

Install the file, or build the component that it belongs to. If the file is in another package on purpose, split
the export set, so that each package exports what it has.

## Limits

Values that depend on the user's project, environment or compiler, or on a program, are unknown. If a condition
depends on them, linkaudit evaluates both branches, and reports only defects that occur in both. CMake 3.25 and Linux
are assumed. Modules of CMake (`FindZLIB`) are not evaluated. Paths in other store items, and below `/run`, `/var`,
`/tmp`, `/proc`, `/sys` and `/dev`, are not checked. The program of an imported target is checked only if the package
checks it itself: configuring and linking succeed without it. Headers of targets named `*Private`, as Qt has them, may
be in another package. CMake finds `foo-config.cmake` for each spelling of `foo` in upper and lower case. linkaudit
tries several spellings. It reports the findings of the spelling for which the package has the fewest defects.
";

fn check(query: &Query<'_>) -> Findings {
    query.about_cmake(RULE.id, |event| {
        let base = event.site.file.parent()?;
        let (path, what) = match &event.kind {
            EventKind::Include(path) => (path, "includes".to_owned()),
            EventKind::Check(path) => (path, "checks".to_owned()),
            EventKind::Property { target, property, path } => {
                (path, format!("target {}, {}:", show(target), show(property)))
            }
            EventKind::Target { .. } | EventKind::Dependency { .. } => return None,
        };
        let prefix = query.prefixes().locate(base).prefix;
        let below = prefix.and_then(|prefix| Some(path.strip_prefix(prefix).ok()?.to_path_buf()));
        let detail = below.unwrap_or_else(|| path.clone());
        let line = event.site.line;
        let message = format!("{what} {}, which does not exist (line {line})", show_path(&detail));
        Some((message, std::os::unix::ffi::OsStrExt::as_bytes(detail.as_os_str()).to_vec()))
    })
}
