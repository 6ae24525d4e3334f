//! `changed-soname`: the soname of a library changed. `crate::diff` makes the findings.

use super::Rule;
use crate::catalogue::COMPATIBILITY;

pub(super) static RULE: Rule =
    Rule::of_diff("changed-soname", COMPATIBILITY, "the soname of a library changed", DOCS)
        .keys(&["library", "detail"]);

const DOCS: &str = "\
## What it does

`linkaudit diff` compares the DT_SONAME of each library with that of its counterpart in the new version. If it
changed, the finding also lists the symbols that are gone or changed.

## Why it matters

A program that was linked with the old library looks for the old soname and does not find it.

## Example

```text
error[changed-soname] lib/libshapes.so.1: soname libshapes.so.1 became libshapes.so.2
```

## How to fix

Rebuild the programs that need the old soname, or ship the old library beside the new one.

## Limits

A library and its successor are matched by the stem of the soname, then by their shared symbols. If a link with the
old soname leads to the new library, the soname is not reported: the loader still finds the library. The rules about
symbols then compare the two libraries. A changed hash in the soname of a Python wheel's library
(`libtiff-4da6744b.so.6`) is ignored if no file needs the old name.
";
