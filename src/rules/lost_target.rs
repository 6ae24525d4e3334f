//! `lost-target`: device code no longer serves a GPU. `crate::diff` makes the findings.

use super::Rule;
use crate::catalogue::COMPATIBILITY;

pub(super) static RULE: Rule =
    Rule::of_diff("lost-target", COMPATIBILITY, "device code no longer serves a GPU", DOCS)
        .keys(&["target"]);

const DOCS: &str = "\
## What it does

`linkaudit diff` compares the GPU targets of each program and library that has device code with those of its
counterpart in the new version. Generic code serves all GPUs of its family.

## Why it matters

Programs that run on such a GPU today will fail at their first kernel launch: `hipErrorNoBinaryForGpu`.

## Example

```text
error[lost-target] lib/librocsparse.so.1: no code for gfx906 any more
```

## How to fix

Build the new version with the GPU in its list of targets, or announce that it is no longer supported.

## Limits

Only programs and libraries are compared, not directories of code objects. SPIR-V in the new version counts
as code for every GPU.
";
