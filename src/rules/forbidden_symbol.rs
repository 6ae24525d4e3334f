//! `forbidden-symbol`: a file defines or refers to a symbol that a policy forbids.

use super::demand::{arch, because, by_policy, has_symbols, place, symbol_key};
use super::words::typeable;
use super::{Query, Rule};
use crate::catalogue::POLICY;
use crate::finding::{Finding, Findings};
use crate::format::elf::tables::Symbol;
use crate::format::elf::{Object, RefKind, Tables};
use crate::id::FileId;
use crate::parallel;
use crate::policy::{Pattern, SymbolAt};
use crate::text::show;
use crate::wants::Wants;
use std::collections::BTreeMap;

pub(super) static RULE: Rule = Rule::new(
    "forbidden-symbol",
    POLICY,
    "a file defines or refers to a symbol that a policy forbids",
    DOCS,
    check,
)
.keys(&["symbol"])
.wants(Wants::TABLES)
.asked_if(|plan| !plan.policy.forbidden_symbols.is_empty() || !plan.policy.platforms.is_empty());

const DOCS: &str = "\
## What it does

Compares the dynamic symbols of every audited program and shared object with `symbols` of `[forbid]`: both
references and exported definitions. An entry with `path` covers only files at that path, under any name or link
that leads to them. An entry with `library` covers only strong references of files that need that library; a weak
reference is null if the library does not export the symbol. Platforms such as `manylinux_2_17` have such entries.

## Why it matters

The rule keeps out functions that a target system lacks or that are unsafe, and keeps the symbols of an embedded
library private.

## Example

```text
error[forbidden-symbol] lib/libapp.so: refers to gets, which linkaudit.toml:7 forbids
```

## How to fix

Call another function. Or hide the definition: `-fvisibility=hidden`, a version script, or for archives
`-Wl,--exclude-libs`.

## Limits

A reference counts if it is in the dynamic symbol table, even if no relocation uses it. Symbols that a program
looks up with dlsym are not checked. Static archives and relocatable objects have no dynamic symbols; at the
`path` of an entry they are reported as `undecided`.
";

fn check(query: &Query<'_>) -> Findings {
    let mut of_file: BTreeMap<FileId, Vec<&SymbolAt>> = BTreeMap::new();
    for entry in &query.policy().forbidden_symbols {
        for (file, _) in query.meant(entry) {
            of_file.entry(file).or_default().push(entry);
        }
    }
    for (file, object) in query.audited_objects() {
        let entries = query.policy().forbidden_on_platforms(arch(object));
        let mut entries = entries.peekable();
        if entries.peek().is_some() {
            of_file.entry(file).or_default().extend(entries);
        }
    }
    let files: Vec<(FileId, Vec<&SymbolAt>)> = of_file.into_iter().collect();
    let of_file = |(file, entries): &(FileId, Vec<&SymbolAt>)| {
        if !has_symbols(query.view().file(*file)) {
            return Findings::new();
        }
        findings(query, *file, entries)
    };
    parallel::map(&files, of_file).into_iter().flatten().collect()
}

/// How a file uses a symbol.
#[derive(Clone, Copy, Default)]
struct Has {
    defined: bool,
    referred: bool,
    /// True if at least one reference is strong.
    strongly: bool,
}

fn findings(query: &Query<'_>, file: FileId, entries: &[&SymbolAt]) -> Findings {
    let Some(object) = query.view().object(file) else { return Findings::new() };
    let mut found: BTreeMap<&[u8], (Has, &SymbolAt)> = BTreeMap::new();
    let needs =
        |pattern: &Pattern| object.needs.iter().any(|n| pattern.matches(object.str(n.name)));
    let mut take = |name, has: Has| {
        let applies = |entry: &&&SymbolAt| match &entry.library {
            // A weak reference stays null if the library does not export the symbol.
            Some(library) => has.strongly && needs(library),
            None => true,
        };
        let hits = entries.iter().filter(|entry| entry.symbol.matches(name)).filter(applies);
        if let Some(entry) = hits.min_by_key(|entry| &entry.origin) {
            let (all, _) = found.entry(name).or_insert((Has::default(), entry));
            all.defined |= has.defined;
            all.referred |= has.referred;
            all.strongly |= has.strongly;
        }
    };
    for (name, strongly) in references(object) {
        take(name, Has { referred: true, strongly, ..Has::default() });
    }
    for symbol in object.tables.iter().flat_map(Tables::symbols).filter(Symbol::is_export) {
        take(symbol.name, Has { defined: true, ..Has::default() });
    }
    found.into_iter().map(|(name, has)| finding(query, file, name, has)).collect()
}

/// Names that an object leaves undefined. The flag is true for a strong reference.
fn references(object: &Object) -> impl Iterator<Item = (&[u8], bool)> {
    let open = |kind| matches!(kind, RefKind::Strong | RefKind::Weak | RefKind::Canonical);
    let references = object.references.iter().filter(move |reference| open(reference.kind));
    references.map(|reference| (object.reference_name(reference), reference.kind != RefKind::Weak))
}

fn finding(
    query: &Query<'_>,
    file: FileId,
    name: &[u8],
    (has, entry): (Has, &SymbolAt),
) -> Box<Finding> {
    let verb = match (has.defined, has.referred) {
        (true, true) => "defines and refers to",
        (true, false) => "defines",
        (false, _) => "refers to",
    };
    let message = format!(
        "{verb} {}, which {} forbids{}",
        show(name),
        place(&entry.origin),
        because(entry.reason.as_deref())
    );
    let mut finding = query.about(RULE.id, file, message);
    finding.symbol = Some(name.to_vec());
    by_policy(&mut finding, symbol_key("forbid.symbols", entry), &entry.origin);
    let words = query.quoted(file).zip(typeable(name));
    finding.witness =
        words.map(|(file, name)| format!("readelf -W --dyn-syms {file} | grep -w {name}"));
    finding
}
