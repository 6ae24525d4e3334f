//! `added-need`: a file needs a library that it did not need before. `crate::diff` finds it.

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

Compares the DT_NEEDED entries of each file with those of its counterpart. Reports a new need if the library is
not part of the new side.

## Why it matters

The package has a new dependency: a system without that library cannot start the program.

## Example

```text
error[added-need] bin/viewer: needs libfoo.so.3, which it did not need before
```

## How to fix

Add the library to the dependencies of the package, or link without it.

## Limits

A need for a library of the new side is not reported. A release that replaces libfoo.so.2 by libfoo.so.3 is
one finding about libfoo.so.3.
";
