//! `removed-symbol`: a symbol that a library or program exported is gone. `crate::diff` makes the
//! findings.

use super::Rule;
use crate::catalogue::COMPATIBILITY;

pub(super) static RULE: Rule = Rule::of_diff(
    "removed-symbol",
    COMPATIBILITY,
    "a symbol that a library or program exported is gone",
    DOCS,
)
.keys(&["symbol", "version", "detail"]);

const DOCS: &str = "\
## What it does

`linkaudit diff` compares the exports of each library with those of its counterpart in the new version. It reports the
symbols that are gone, one finding for each library, grouped by C++ class or namespace. If the soname changed too,
`changed-soname` lists them instead. A symbol that moved to a library which the new one loads counts as present, if
references with a version still find it there. If the new library no longer loads another library, the rule also
reports the symbols of that library which users found through the old one. Symbols of a program are reported if a plugin
uses them. A shared object counts as such a plugin if it refers to the symbol, and no other program and no library that
any file needs defines the symbol.

## Why it matters

A program that refers to the symbol fails with `symbol lookup error`, at its start or at the first call.

## Example

```text
error[removed-symbol] lib/libshapes.so.1: 2 symbols gone, 1 in use
  gone       Shape::area(double) (used by /usr/bin/viewer)
             Shape::scale(double)
```

## How to fix

Keep the symbol, or change the soname so that old programs do not load the new library. If the removal is announced,
a waiver with the key `symbol` accepts it. All other symbols of the finding stay an error.

## Limits

If no audited file uses the symbols, the finding is a warning. A JSON report that was written without `--facts` has
no exports: if a side is such a report, symbols are `undecided`.
";
