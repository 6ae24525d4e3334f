//! `added-need`: a file needs a library that it did not need before. `crate::diff` makes the
//! findings.

use super::Rule;
use crate::catalogue::COMPATIBILITY;

pub(super) static RULE: Rule = Rule::of_diff(
    "added-need",
    COMPATIBILITY,
    "a file needs a library that it did not need before",
    DOCS,
)
.keys(&["library"]);

const DOCS: &str = "\
## What it does

`linkaudit diff` compares the DT_NEEDED entries of each file with those of its counterpart in the old version. It
reports a new need unless the new version contains the library.

## Why it matters

The package has a new dependency: a system without that library cannot start the program.

## Example

```text
error[added-need] bin/viewer: needs libfoo.so.3, which it did not need before
```

## How to fix

Add the library to the dependencies of the package, or link without it.

## Limits

If a file now needs libfoo.so.3 instead of libfoo.so.2, the rule reports one finding, about libfoo.so.3.
";
