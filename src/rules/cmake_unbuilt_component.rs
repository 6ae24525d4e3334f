//! `cmake-unbuilt-component`: a CMake package lists a component that is not installed.

use super::{Query, Rule};
use crate::catalogue::PACKAGE_TEXT;
use crate::finding::Findings;
use crate::text::{show, show_path};
use crate::wants::Wants;

pub(super) static RULE: Rule = Rule::new(
    "cmake-unbuilt-component",
    PACKAGE_TEXT,
    "a CMake package lists a component that is not installed",
    DOCS,
    check,
)
.keys(&["detail"])
.wants(Wants::CMAKE);

const DOCS: &str = "\
## What it does

Some configuration files have a list of components, and include one file for each component that a user requests.
The rule evaluates the package once for each component of the list, and reports components whose file does not
exist.

## Why it matters

`find_package(foo COMPONENTS bar)` ends with `include could not find requested file`, although the package lists
the component. A build that omits a component rarely updates that list.

## Example

```text
error[cmake-unbuilt-component] lib/cmake/ck/ckConfig.cmake: device_conv_operations: includes
lib/cmake/ck/ckdevice_conv_operationsTargets.cmake, which does not exist (line 24)
```

## How to fix

Build and install the component, or remove its name from the list in the configuration file.

## Limits

The rule knows the components of a package only if the package compares the requested ones with a list (`IN_LIST`).
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for package in &query.package_text().cmake {
        for (component, outcome) in &package.components {
            let Some((event, path)) = package.lost_component(outcome) else { continue };
            let prefix = query.prefixes().locate(&package.path).prefix.unwrap_or_default();
            let (name, line) = (show(component), event.site.line);
            let path = show_path(path.strip_prefix(prefix).unwrap_or(path));
            let message = format!("{name}: includes {path}, which does not exist (line {line})");
            let mut finding = query.about_text(RULE.id, &event.site.file, message);
            finding.detail = Some(component.clone());
            out.push(finding);
        }
    }
    out
}
