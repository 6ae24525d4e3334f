//! `uncovered-symbol`: an archive leaves a symbol undefined that a policy requires it to define.

use super::{Query, Rule};
use crate::audit::archives::is_about;
use crate::catalogue::ARCHIVE;
use crate::finding::{Evidence, EvidenceKind, Findings};
use crate::format::archive::SymbolKind;
use crate::id::{ArchiveId, FastSet, MemberId, NameId};
use crate::order::Arrange as _;
use crate::policy::Pattern;
use crate::text::show;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) static RULE: Rule = Rule::new(
    "uncovered-symbol",
    ARCHIVE,
    "an archive lacks a symbol that a policy requires inside it",
    DOCS,
    check,
)
.keys(&["symbol"])
.asked_if(|plan| plan.policy.archives.iter().any(|archive| !archive.covers.is_empty()));

const DOCS: &str = "\
## What it does

Checks every archive that an `[[archive]]` entry of a policy matches. Reports references whose names match
`covers` and that no member of the archive defines.

## Why it matters

An archive that is merged from others should be complete, but no linker checks this. A missing symbol is
undefined in every library that is linked from the archive, and the first call fails.

## Example

```text
error[uncovered-symbol] lib/librockCompiler.a: refers to LLVMInitializeX86Target, which no member defines
```

## How to fix

Merge the archive that defines the symbol: `linkaudit archive` names it, and `linkaudit fix` repairs the
list. Or build the referring members without the feature that needs the symbol. A `near miss` is a similar
definition in an archive: another version, `[abi:…]` tag or parameter list, or another member of the class.

## Limits

Only names that match `covers` are checked: a merged archive has many references that no link uses.
";

/// Maximum number of members that are listed for one symbol.
const MOST: usize = 3;

fn check(query: &Query<'_>) -> Findings {
    let library = query.library();
    let mut out = Findings::new();
    for (archive, entry) in library.entries() {
        let entries = query.policy().archives.iter();
        let covers: Vec<&Pattern> = entries
            .filter(|of| is_about(of, &entry.path, query.prefixes()))
            .flat_map(|entry| &entry.covers)
            .collect();
        for (symbol, members) in uncovered(query, archive, &covers) {
            let text = show(symbol);
            let message = format!("refers to {text}, which no member defines");
            let mut finding = query.about(RULE.id, entry.file, message);
            finding.symbol = Some(symbol.to_vec());
            for member in members.iter().take(MOST) {
                finding.evidence.push(Evidence {
                    symbol: Some(symbol.to_vec()),
                    member: Some(library.member_name(*member).to_vec()),
                    ..Evidence::at(EvidenceKind::Reference, Arc::clone(&entry.path))
                });
            }
            finding.evidence.extend(definers(query, archive, symbol));
            out.push(finding);
        }
    }
    out
}

/// Names that match `covers` and that the archive leaves undefined, with the members that refer to
/// them.
fn uncovered<'a>(
    query: &'a Query<'_>,
    archive: ArchiveId,
    covers: &[&Pattern],
) -> BTreeMap<&'a [u8], Vec<MemberId>> {
    let library = &query.library();
    let mut out: BTreeMap<&[u8], Vec<MemberId>> = BTreeMap::new();
    if covers.is_empty() {
        return out;
    }
    let symbols = || library.members_of(archive).flat_map(|member| library.symbols(member));
    let inside: FastSet<NameId> =
        symbols().filter(|(_, symbol)| symbol.kind.is_definition()).map(|(name, _)| name).collect();
    for member in library.members_of(archive) {
        for (name, symbol) in library.symbols(member) {
            let text = library.text(name);
            if symbol.kind == SymbolKind::Undefined
                && covers.iter().any(|pattern| pattern.matches(text))
                && !inside.contains(&name)
            {
                out.entry(text).or_default().push(member);
            }
        }
    }
    out
}

/// Evidence for members of other archives that define the symbol, at most [`MOST`].
fn definers(query: &Query<'_>, not: ArchiveId, symbol: &[u8]) -> Vec<Evidence> {
    let library = &query.library();
    let Some(name) = library.find(symbol) else { return Vec::new() };
    let mut found: Vec<MemberId> =
        library.definitions(name).map(|definition| definition.member).collect();
    found.retain(|member| library.archive_of(*member) != not);
    found.arrange();
    let evidence = |member: &MemberId| Evidence {
        symbol: Some(symbol.to_vec()),
        member: Some(library.member_name(*member).to_vec()),
        ..Evidence::at(
            EvidenceKind::Candidate,
            Arc::clone(&library.entry(library.archive_of(*member)).path),
        )
    };
    found.iter().take(MOST).map(evidence).collect()
}
