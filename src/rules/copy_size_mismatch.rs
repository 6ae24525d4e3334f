//! `copy-size-mismatch`: a program's copy of library data has another size than the data in the
//! library.

use super::protected_symbol::{self, TakenSymbol, by_symbol};
use super::{Query, Rule};
use crate::bind::RelocationMessage;
use crate::catalogue::{Level, SYMBOL};
use crate::finding::Findings;
use crate::id::RootId;
use crate::text::show;

pub(super) static RULE: Rule = Rule::new(
    "copy-size-mismatch",
    SYMBOL,
    "a program copies data whose size differs in the library",
    DOCS,
    check,
)
.keys(&["library", "symbol"])
.at(Level::Warning);

const DOCS: &str = "\
## What it does

Reports data that a program copies from a library (copy relocation), if the definition that the loader finds has
another size than the copy.

## Why it matters

The linker stores the size of the data in the program. If a later release of the library has more data, the loader
copies only the first part: ``Symbol `table' has different size in shared object, consider re-linking``. The library
uses the copy too, and reads and writes beyond its end.

If the library has less data, the rest of the copy is zero. The loader starts the program without a message; only
`ldd -r` reports the difference.

## Example

```text
warning[copy-size-mismatch] bin/app: table: 16 bytes in the copy, 32 bytes in libfoo.so.1
```

## How to fix

Link the program again with the installed library. A library that keeps its soname must keep the size of the data
that it exports; functions that return the data, or hidden data, avoid the copy. Programs compiled with `-fPIC` or
`-mno-direct-extern-access` do not copy data.

## Limits

musl's loader prints no such message, and programs under it are not checked. Data of the same size with another layout
is not detected.
";

fn check(query: &Query<'_>) -> Findings {
    let sizes = by_symbol(query, |message| {
        let RelocationMessage::Size { symbol, provider, sizes } = *message else { return None };
        Some((symbol, provider, sizes))
    });
    let finding = |(taken, (ours, theirs), roots): (TakenSymbol, (u64, u64), Vec<RootId>)| {
        let said = |name: &[u8], library: &str| {
            format!("{}: {ours} bytes in the copy, {theirs} bytes in {library}", show(name))
        };
        protected_symbol::finding(query, RULE.id, &taken, &roots, said)
    };
    sizes.into_iter().filter_map(finding).collect()
}
