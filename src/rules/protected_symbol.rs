//! `protected-symbol`: a program has its own copy or address of a symbol, but the library uses its
//! own definition.

use super::{Query, Rule};
use crate::bind::RelocationMessage;
use crate::catalogue::{RuleId, SYMBOL};
use crate::finding::{Evidence, EvidenceKind, Finding, Findings, When};
use crate::format::elf::SymbolIndex;
use crate::id::{FileId, ModuleId, RootId};
use crate::resolve::ROOT;
use crate::text::show;
use std::collections::BTreeMap;

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

Reports a program that copies protected data of a library (STV_PROTECTED, copy relocation), or has the canonical
PLT address of a protected function. The library uses its own definition; the program uses another one.

For a function, the finding is a warning, because only comparisons of its address fail. It is an error if the library
was built with `-mno-direct-extern-access`.

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

musl's loader and glibc before 2.36 print no such message. Programs under these loaders are not checked.
";

fn check(query: &Query<'_>) -> Findings {
    let protected = by_symbol(query, |message| {
        let RelocationMessage::Protected { symbol, provider, copy, refused } = *message else {
            return None;
        };
        Some((symbol, provider, (copy, refused)))
    });
    let finding = |(taken, (copy, refused), roots): (TakenSymbol, (bool, bool), Vec<RootId>)| {
        let said = |name: &[u8], library: &str| {
            let how = if copy { "copied from" } else { "address fixed for" };
            format!("{}: {how} {library}, which uses its own protected definition", show(name))
        };
        let mut finding = finding(query, RULE.id, &taken, &roots, said)?;
        finding.detail = Some(if copy { b"copy".to_vec() } else { b"address".to_vec() });
        finding.mild = !copy && !refused;
        let program = query.facts(taken.program).object()?;
        let when = if copy || program.bind_now { When::Load } else { When::Call };
        finding.when = refused.then_some(when);
        Some(finding)
    };
    protected.into_iter().filter_map(finding).collect()
}

/// A symbol of a library that a program copies, or to which the program gives an address of its
/// own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TakenSymbol {
    pub(super) program: FileId,
    pub(super) library: FileId,
    /// Index in the dynamic symbol table of the program.
    pub(super) symbol: SymbolIndex,
}

/// Groups the messages that `pick` selects: one row for each program, library, symbol and facts,
/// with all its entry points. A program can be several entry points: it may be started under
/// several names, or be the host program of several plugins. `pick` returns the symbol, the
/// library, and the facts of a message; `None` skips the message.
pub(super) fn by_symbol<T: Ord>(
    query: &Query<'_>,
    pick: impl Fn(&RelocationMessage) -> Option<(SymbolIndex, ModuleId, T)>,
) -> Vec<(TakenSymbol, T, Vec<RootId>)> {
    let mut all: BTreeMap<(TakenSymbol, T), Vec<RootId>> = BTreeMap::new();
    for (root, message) in query.relocation_messages() {
        let Some((symbol, provider, facts)) = pick(message) else { continue };
        let file = |module: ModuleId| query.closure(root).module(module).file;
        let (Some(program), Some(library)) = (file(ROOT), file(provider)) else { continue };
        all.entry((TakenSymbol { program, library, symbol }, facts)).or_default().push(root);
    }
    all.into_iter().map(|((taken, facts), roots)| (taken, facts, roots)).collect()
}

/// A finding about a symbol that an audited program takes from a library. `said` makes the message
/// from the names of the symbol and the library. `None` if the program is not audited.
pub(super) fn finding(
    query: &Query<'_>,
    rule: RuleId,
    taken: &TakenSymbol,
    roots: &[RootId],
    said: impl Fn(&[u8], &str) -> String,
) -> Option<Box<Finding>> {
    let TakenSymbol { program, library, symbol } = *taken;
    // A program of `--host` is not audited.
    let facts = Some(query.facts(program)).filter(|facts| facts.audited)?;
    let name = facts.object()?.symbol_name(symbol);
    let message = said(name, &query.library_text(library));
    let mut finding = query.about(rule, program, message);
    finding.symbol = Some(name.to_vec());
    finding.library = Some(query.library_name(library).to_vec());
    finding.root = query.first_root(roots);
    finding.evidence.extend(query.roots(roots, None));
    finding.evidence.push(Evidence {
        symbol: Some(name.to_vec()),
        ..Evidence::at(EvidenceKind::Provider, query.shared_path(library))
    });
    let words = query.loader_variables().zip(query.quoted(program));
    finding.witness = words.map(|(variables, program)| format!("{variables}ldd -r {program}"));
    Some(finding)
}
