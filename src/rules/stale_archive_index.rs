//! `stale-archive-index`: the index of an archive and its members disagree.

use super::{Query, Rule};
use crate::catalogue::ARCHIVE;
use crate::cover::ArchiveEntry;
use crate::finding::Findings;
use crate::format::archive::{ArchiveSymbolIndex, MemberKind};
use crate::id::FastSet;
use crate::text::show;
use std::collections::BTreeSet;

pub(super) static RULE: Rule = Rule::new(
    "stale-archive-index",
    ARCHIVE,
    "the symbol index of an archive disagrees with its members",
    DOCS,
    check,
)
.keys(&["member", "detail"]);

const DOCS: &str = "\
## What it does

Compares the symbol index of an archive with the symbols that its members define. Reports symbols that the
index lacks, and symbols that the index assigns to a member that does not define them.

## Why it matters

GNU ld and gold read only the index. They do not find a symbol that the index lacks, and a wrong
entry makes them extract the wrong member. lld and mold read the members. The result of a link depends on the linker.

## Example

```text
error[stale-archive-index] lib/libfoo.a: its index lacks 2 symbols that its members define: foo and 1 more
```

## How to fix

Run `ranlib` on the archive. Let `ar` write the index when it creates the archive (`ar rcs`).

## Limits

An archive without an index is not reported. Members with intermediate code or bitcode are skipped: only their
compiler knows their symbols. If the audited archives have more than 64 MiB in total, the rule checks only some of them:

- thin archives
- archives that the command line or a policy names
- archives beside a library with undefined symbols, if the audit has at most 1,000 objects
- all archives, with `--facts` or if an archive in `--lib-path` defines an undefined symbol
";

/// Symbol names, each with the offset of the member that defines it.
type IndexPairs<'a> = BTreeSet<(&'a [u8], u64)>;

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (_, entry) in query.library().entries() {
        let Some(index) = &entry.members.index else { continue };
        // Damaged members cannot be compared; `malformed` reports them.
        if !entry.members.damage.is_empty() {
            continue;
        }
        let (said, there) = (said(entry, index), there(query, entry));
        let mut report = |detail: &str, what: String, pairs: Vec<&(&[u8], u64)>| {
            let Some((symbol, offset)) = pairs.first() else { return };
            let n = pairs.len();
            let plural = if n == 1 { "symbol" } else { "symbols" };
            let message = what.replace("{n}", &format!("{n} {plural}"));
            let more = if n == 1 { String::new() } else { format!(" and {} more", n - 1) };
            let message = format!("{message}: {}{more}", show(symbol));
            let mut finding = query.about(RULE.id, entry.file, message);
            let member = entry.members.list.iter().find(|member| member.offset == *offset);
            finding.member = member.map(|member| entry.members.name(member).to_vec());
            finding.detail = Some(detail.as_bytes().to_vec());
            out.push(finding);
        };
        let lacking = there.difference(&said).collect();
        report("lacks", "its index lacks {n} that its members define".to_owned(), lacking);
        let wrong = said.difference(&there).collect();
        let text = "its index names the wrong member for {n}".to_owned();
        report("wrong", text, wrong);
    }
    out
}

/// The offsets of members that are objects and could be read.
fn readable(entry: &ArchiveEntry) -> FastSet<u64> {
    let list = entry.members.list.iter();
    list.filter(|member| member.kind == MemberKind::Object).map(|member| member.offset).collect()
}

/// The index entries that can be compared: those for readable members, and those for offsets at
/// which no member begins.
fn said<'a>(entry: &'a ArchiveEntry, index: &'a ArchiveSymbolIndex) -> IndexPairs<'a> {
    let readable = readable(entry);
    let all: FastSet<u64> = entry.members.list.iter().map(|member| member.offset).collect();
    let judged = |(_, offset): &(&[u8], u64)| readable.contains(offset) || !all.contains(offset);
    // An index may have a default version in the name (`foo@@V1`).
    let stem = |(name, offset): (&'a [u8], u64)| {
        let end = name.windows(2).position(|two| two == b"@@").unwrap_or(name.len());
        (&name[..end], offset)
    };
    index.entries().filter(judged).map(stem).collect()
}

/// The names that readable members define, each with the offset of its member.
fn there<'a>(query: &'a Query<'_>, entry: &'a ArchiveEntry) -> IndexPairs<'a> {
    let library = &query.library();
    let Some(archive) = library.archive(entry.file) else { return IndexPairs::new() };
    let members = library.members_of(archive);
    let objects = members.filter(|m| library.member(*m).kind == MemberKind::Object);
    objects
        .flat_map(|member| {
            let offset = library.member(member).offset;
            let symbols = library.symbols(member);
            let defined = symbols.filter(|(_, symbol)| symbol.kind.is_definition());
            defined.map(move |(name, _)| (library.text(name), offset))
        })
        .collect()
}
