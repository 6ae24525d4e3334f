//! `required-symbol`: a file does not define a symbol that a policy requires of it.

use super::demand::{because, by_policy, has_symbols, place, symbol_key};
use super::words::typeable;
use super::{Query, Rule};
use crate::catalogue::POLICY;
use crate::finding::{Finding, Findings};
use crate::format::elf::tables::Symbol;
use crate::format::elf::{Object, Tables};
use crate::order::Arrange as _;
use crate::policy::SymbolAt;
use crate::text::show;
use crate::wants::Wants;

pub(super) static RULE: Rule = Rule::new(
    "required-symbol",
    POLICY,
    "a file does not define a symbol that a policy requires of it",
    DOCS,
    check,
)
.keys(&["symbol"])
.wants(Wants::TABLES)
.asked_if(|plan| !plan.policy.required_symbols.is_empty());

const DOCS: &str = "\
## What it does

Checks `symbols` of `[require]`: each audited program and shared object at the `path` must export the symbol. A file
is also at the path if one of its other names, or a link to it, matches. Each given directory must have at least one
file at the path.

## Why it matters

If a library loses a function of its interface, the programs that use it fail after the update, at start or at the
first call.

## Example

```text
error[required-symbol] lib/libMIOpen.so.1: does not define miopenCreate, which linkaudit.toml:9 requires
```

## How to fix

Link the object or archive that defines the symbol (`-Wl,--whole-archive`), or export it: a version script or
`-fvisibility=hidden` may hide it.

## Limits

A symbol of any version and type counts. For a static archive or a relocatable object at the path, or if only
a part of the prefix was given, the answer is `undecided`.
";

fn check(query: &Query<'_>) -> Findings {
    let required = &query.policy().required_symbols;
    let mut out: Findings = required.iter().flat_map(|entry| of_entry(query, entry)).collect();
    out.arrange_by(|a, b| a.key().cmp(&b.key()));
    // Two policies may require the same symbol.
    out.dedup_by(|b, a| a.key() == b.key());
    out
}

fn of_entry(query: &Query<'_>, entry: &SymbolAt) -> Findings {
    let mut out = Findings::new();
    let meant = query.meant(entry);
    let symbol = show(entry.symbol.text().as_bytes());
    let end =
        format!("which {} requires{}", place(&entry.origin), because(entry.reason.as_deref()));
    for (file, _) in &meant {
        let facts = query.view().file(*file);
        if !has_symbols(facts) || facts.object().is_some_and(|object| defines(object, entry)) {
            continue;
        }
        let message = format!("does not define {symbol}, {end}");
        let mut finding = query.about(RULE.id, *file, message);
        let words = query.quoted(*file).zip(typeable(entry.symbol.text().as_bytes()));
        finding.witness =
            words.map(|(file, name)| format!("readelf -W --dyn-syms {file} | grep -w {name}"));
        out.push(finding);
    }
    let Some(pattern) = &entry.path else { return named(out, entry) };
    for given in query.given().iter().filter(|given| given.holds(pattern)) {
        if !meant.iter().any(|(_, names)| names.iter().any(|name| name.starts_with(given.dir))) {
            let (by, reason) = (place(&entry.origin), because(entry.reason.as_deref()));
            let message = format!(
                "no program or library at this path; {by} requires that it defines {symbol}{reason}"
            );
            out.push(Finding::new(RULE.id, given.absent(pattern), message));
        }
    }
    named(out, entry)
}

fn named(mut findings: Findings, entry: &SymbolAt) -> Findings {
    for finding in &mut findings {
        finding.symbol = Some(entry.symbol.text().into());
        by_policy(finding, symbol_key("require.symbols", entry), &entry.origin);
    }
    findings
}

fn defines(object: &Object, entry: &SymbolAt) -> bool {
    let mut exports = object.tables.iter().flat_map(Tables::symbols).filter(Symbol::is_export);
    exports.any(|symbol| entry.symbol.matches(symbol.name))
}
