//! `protected-symbol`: a program has its own copy or address of a symbol, but the library uses its
//! own definition.

use super::{Query, Rule};
use crate::bind::RelocationMessage;
use crate::catalogue::{RuleId, SYMBOL};
use crate::finding::{Evidence, EvidenceKind, Finding, Findings, When};
use crate::format::elf::SymbolIndex;
use crate::id::{ModuleId, RootId};
use crate::resolve::ROOT;
use crate::text::show;

pub(super) static RULE: Rule = Rule::new(
    "protected-symbol",
    SYMBOL,
    "a program has its own copy or address of a protected symbol",
    DOCS,
    check,
)
.keys(&["library", "symbol", "detail"]);

const DOCS: &str = "\
## What it does

Reports a program that copies the data of a library (copy relocation) or fixes the address of its function, if the
symbol is protected in the library that the loader finds (STV_PROTECTED). The library uses its own definition, and the
program another one.

A function is a warning, because only comparisons of its address fail. It is an error if the library was built with
`-mno-direct-extern-access`.

## Why it matters

The program and the library read and write two variables. glibc's loader warns since release 2.36: `copy relocation
against non-copyable protected symbol`. If the library was built with `-mno-direct-extern-access`, the loader stops:
`error due to GNU_PROPERTY_1_NEEDED_INDIRECT_EXTERN_ACCESS`.

## Example

```text
error[protected-symbol] bin/app: table: copied from libfoo.so.1, which uses its own protected definition
```

## How to fix

Compile the program with `-mno-direct-extern-access` (GCC 12) or `-fPIC`, or link it again: linkers refuse to copy
protected data. Or export the symbol from the library with the default visibility.

## Limits

Older releases of glibc and musl's loader print no such message, and programs under them are not checked.
";

fn check(query: &Query<'_>) -> Findings {
    let protected = query.relocation_messages().filter_map(|(root, message)| {
        let RelocationMessage::Protected { symbol, provider, copy, refused } = *message else {
            return None;
        };
        let said = |name: &[u8], library: &str| {
            let how = if copy { "copied from" } else { "address fixed for" };
            format!("{}: {how} {library}, which uses its own protected definition", show(name))
        };
        let mut finding = finding(query, RULE.id, (root, symbol, provider), said)?;
        finding.detail = Some(if copy { b"copy".to_vec() } else { b"address".to_vec() });
        finding.mild = !copy && !refused;
        let program = query.facts(query.closure(root).module(ROOT).file?).object()?;
        let when = if copy || program.bind_now { When::Load } else { When::Call };
        finding.when = refused.then_some(when);
        Some(finding)
    });
    protected.collect()
}

/// A finding about a symbol that an audited program takes from a library. `said` makes the message
/// from the names of the symbol and the library.
pub(super) fn finding(
    query: &Query<'_>,
    rule: RuleId,
    (root, symbol, provider): (RootId, SymbolIndex, ModuleId),
    said: impl Fn(&[u8], &str) -> String,
) -> Option<Box<Finding>> {
    let closure = query.closure(root);
    let file = |module: ModuleId| closure.module(module).file;
    let (program, library) = (file(ROOT)?, file(provider)?);
    // A program of `--host` is not audited.
    let facts = Some(query.facts(program)).filter(|facts| facts.audited)?;
    let name = facts.object()?.symbol_name(symbol);
    let message = said(name, &query.library_text(library));
    let mut finding = query.about(rule, program, message);
    finding.symbol = Some(name.to_vec());
    finding.library = Some(query.library_name(library).to_vec());
    finding.root = query.first_root(&[root]);
    finding.evidence.push(Evidence {
        symbol: Some(name.to_vec()),
        ..Evidence::at(EvidenceKind::Provider, query.shared_path(library))
    });
    let words = query.loader_variables().zip(query.quoted(program));
    finding.witness = words.map(|(variables, program)| format!("{variables}ldd -r {program}"));
    Some(finding)
}
