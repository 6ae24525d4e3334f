//! `lost-search-path`: a file lost an entry of its RPATH or RUNPATH. `crate::diff` makes the
//! findings.

use super::Rule;
use crate::catalogue::COMPATIBILITY;

pub(super) static RULE: Rule = Rule::of_diff(
    "lost-search-path",
    COMPATIBILITY,
    "a file lost an entry of its RPATH or RUNPATH",
    DOCS,
)
.keys(&["detail"]);

const DOCS: &str = "\
## What it does

`linkaudit diff` compares the RPATH and RUNPATH of each file with those of its counterpart in the new version. It also
reports entries whose order changed, if a needed library is therefore found in another directory.

## Why it matters

Libraries in that directory are no longer found, or another copy of them is found first.

## Example

```text
warning[lost-search-path] bin/viewer: $ORIGIN/../lib is no longer in its RUNPATH
```

## How to fix

Set the search path again in the build. If a library is no longer found, `linkaudit fix --emit patchelf` writes a
script that adds the entry.

## Limits

The finding is a warning if every library that the file needs is still found. Another order is always a warning.
";
