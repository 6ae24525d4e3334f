//! `cmake-missing-target`: a target of a CMake package links to an undefined target.

use super::{Query, Rule};
use crate::catalogue::PACKAGE_TEXT;
use crate::cmake::EventKind;
use crate::finding::Findings;
use crate::text::show;
use crate::wants::Wants;

pub(super) static RULE: Rule = Rule::new(
    "cmake-missing-target",
    PACKAGE_TEXT,
    "a CMake package links to a target that is not defined",
    DOCS,
    check,
)
.keys(&["detail"])
.wants(Wants::CMAKE);

const DOCS: &str = "\
## What it does

Reports a target in `INTERFACE_LINK_LIBRARIES` of an imported target if neither the package nor any of its
dependencies defines it. Only names with `::` count: CMake never takes them for a flag.

## Why it matters

The configuration of every user ends with `The link interface of target … contains … but the target was not
found`. The usual reason is a `find_dependency` that was forgotten.

## Example

```text
error[cmake-missing-target] lib/cmake/foo/fooTargets.cmake: target foo::foo links to bar::bar, which is not
defined (line 40)
```

## How to fix

Add `find_dependency(bar)` to the configuration file, or export the target.

## Limits

Targets that a module of CMake or a package without a configuration file may define are assumed to exist. A package
that could not be evaluated to its end is not checked. The same holds for a package whose targets depend on the
requested components.
";

fn check(query: &Query<'_>) -> Findings {
    query.about_cmake(RULE.id, |event| {
        let EventKind::Target { from, to } = &event.kind else { return None };
        let (from, name) = (show(from), show(to));
        let line = event.site.line;
        let message = format!("target {from} links to {name}, which is not defined (line {line})");
        Some((message, to.clone()))
    })
}
