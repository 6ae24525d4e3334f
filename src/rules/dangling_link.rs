//! `dangling-link`: a symbolic link that is named like a library and whose target does not exist.

use super::{Query, Rule};
use crate::catalogue::LINK_HYGIENE;
use crate::finding::{Finding, Findings};
use crate::text::show_path;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

pub(super) static RULE: Rule = Rule::new(
    "dangling-link",
    LINK_HYGIENE,
    "a symbolic link with the name of a library has no target",
    DOCS,
    check,
)
.keys(&["detail"]);

const DOCS: &str = "\
## What it does

Reports symbolic links below the audited directories that have the name of a library (`lib*.so`, `lib*.so.*`,
`lib*.a`) and whose target does not exist. A link that leads back to itself has no target either.

## Why it matters

The loader and the linker skip such a link silently and take another file, or fail. Often an old version left it
behind, or its target is in a package that is not installed. If a link leads back to itself, the loader
skips the rest of that search list.

## Example

```text
warning[dangling-link] lib/libfoo.so: links to libfoo.so.1.2, which does not exist
```

## How to fix

Install the target, correct the link, or remove it. For a development package, depend on the package with the
library in exactly the same version.

## Limits

Links with other names are not reported. Neither are links that lead into `/etc/alternatives`, directly or through
other links: those are made after the installation.
";

fn check(query: &Query<'_>) -> Findings {
    let links = query.dangling_links().iter().filter(|link| !link.is_alternative);
    links
        .map(|link| {
            let target = show_path(&link.target);
            let message = if link.is_loop {
                format!("links to {target}: too many levels of symbolic links")
            } else if let Some(last) = link.further.last() {
                format!("links to {target}, which leads to {}: no such file", show_path(last))
            } else {
                format!("links to {target}, which does not exist")
            };
            let file = Arc::new(query.prefixes().locate(&link.path));
            let mut finding = Finding::new(RULE.id, file, message);
            finding.detail = Some(link.target.as_os_str().as_bytes().to_vec());
            finding
        })
        .collect()
}
