//! `changed-symbol`: an exported symbol changed its version, type, size, binding or visibility.
//! `crate::diff` makes the findings.

use super::Rule;
use crate::catalogue::COMPATIBILITY;

pub(super) static RULE: Rule = Rule::of_diff(
    "changed-symbol",
    COMPATIBILITY,
    "an exported symbol changed its version, type, size or binding",
    DOCS,
)
.keys(&["symbol", "version"]);

const DOCS: &str = "\
## What it does

`linkaudit diff` compares each exported symbol with the symbol of the same name in the counterpart of its library. It
compares:

- the version, and whether that version is the default
- the type (function, data, thread-local)
- the binding (global, weak, unique), and whether the symbol is protected
- for data, the size

## Why it matters

A program that needs the old version does not start. Linkers and dlsym do not find a symbol that no longer has a
default version. A program with a copy relocation for data of another size reads or overwrites the bytes behind the
copy. A symbol that is no longer unique has a copy in each library that defines it. Another library cannot replace a
protected symbol.

## Example

```text
error[changed-symbol] lib/libshapes.so.1: 1 symbol changed, 1 with users
  changed    origin: 8 bytes before, 16 now
```

## How to fix

Keep the old version beside the new one with a version script, and change the soname if the type or size changes.
A waiver with the key `symbol` accepts the change of one symbol.

## Limits

The size of functions is not compared. A changed binding or visibility is a warning: references are still bound. If a
program copies data (copy relocation) that became protected, the finding is an error: the library no longer uses the
copy. The types of parameters and fields are not known: `abidiff` compares those if debug information is present.
";
