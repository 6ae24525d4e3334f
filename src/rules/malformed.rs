//! `malformed`: a file is damaged, or changed while it was read.

use super::{Query, Rule};
use crate::catalogue::INPUT;
use crate::finding::{CauseHint, Findings};
use crate::format::Defect;
use crate::id::{FastSet, FileId};
use crate::order::Arrange as _;
use crate::text::show;
use std::cell::OnceCell;

pub(super) static RULE: Rule =
    Rule::new("malformed", INPUT, "a file is damaged, or changed while it was read", DOCS, check)
        .keys(&["detail"]);

const DOCS: &str = "\
## What it does

Reports defects in the files that were read: the table, the offset, and the defect. For programs and libraries
it checks the data that a loader uses; section headers are not checked. For relocatable objects and members of
archives it checks the data that a linker needs to read their symbols.

A truncated file gives one finding: the size of the file, the size that its headers need, and the first missing
part. In JSON, `detail` lists all missing parts. Defects that follow from a missing table are not reported.

A damaged ld.so.cache is reported too. The search continues with the part that the loader would use.

## Why it matters

Damaged data cannot be audited, and a loader may crash on it. The other results of the audit are valid; the
exit status is 3 if there is no worse finding.

## Example

```text
incomplete[malformed] lib/libfoo.so: dynamic section at 0x2e08 has no DT_NULL
incomplete[malformed] bin/app: truncated: 8192 of 12304 bytes; program headers at 0x2df8 hold a PT_LOAD that
ends beyond the end of the file; 1 more part is missing
```

## How to fix

Build or copy the file again. If the file is good, please report a bug in linkaudit.

## Limits

Only the tables that linkaudit reads are checked. Symbol tables of relocatable objects are read only if all audited
relocatable objects together have at most 64 MiB. A file whose header states a size that is too large looks truncated.
Files of other systems are counted and not checked.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Vec::new();
    let loaded = OnceCell::new();
    for (file, facts) in query.files() {
        if facts.foreign().is_some() {
            // A file of a foreign system is checked only if a loader maps it.
            let loaded: &FastSet<FileId> = loaded.get_or_init(|| {
                let closures = query.entry_points().map(|(_, closure)| closure);
                closures.flat_map(|closure| closure.found().map(|(_, file)| file)).collect()
            });
            if !loaded.contains(&file) {
                continue;
            }
        }
        let mut defects: Vec<_> = facts.all_defects().collect();
        defects.arrange();
        defects.dedup();
        let (mut lost, other): (Vec<&Defect>, Vec<_>) =
            defects.into_iter().partition(|defect| defect.end.is_some());
        lost.arrange_by_key(|defect| defect.offset);
        let facts = truncated(facts.stat.len, &lost).into_iter();
        for (message, detail) in facts.chain(other.into_iter().map(damage)) {
            let mut finding = query.about(RULE.id, file, message);
            finding.cause = Some(CauseHint::DamagedFile);
            finding.detail = Some(detail.into());
            out.push(finding);
        }
    }
    out.extend(members(query));
    for fault in query.config_faults().into_iter().filter(|fault| fault.is_damage) {
        let mut finding = super::unreadable::about_config(query, RULE.id, fault);
        finding.detail = Some(fault.what.clone().into());
        out.push(finding);
    }
    out
}

/// The message about a defect, and the `detail`.
fn damage(defect: &Defect) -> (String, String) {
    let place = defect.place();
    (format!("{place} {}", defect.what), format!("{place}: {}", defect.what))
}

/// The message and `detail` about all defects beyond the end of a truncated file of `len` bytes;
/// `None` if there are no such defects. The message has the first defect, the detail has all.
fn truncated(len: u64, lost: &[&Defect]) -> Option<(String, String)> {
    let (first, others) = lost.split_first()?;
    let end = lost.iter().filter_map(|defect| defect.end).max()?;
    let (first, _) = damage(first);
    let more = match others.len() {
        0 => String::new(),
        1 => "; 1 more part is missing".to_owned(),
        n => format!("; {n} more parts are missing"),
    };
    let message = format!("truncated: {len} of {end} bytes; {first}{more}");
    let all: Vec<String> = lost.iter().map(|defect| damage(defect).1).collect();
    Some((message, format!("truncated at {len} of {end} bytes: {}", all.join("; "))))
}

/// Findings about damaged archives. A finding about a member has the member's name and the offset
/// of its header.
fn members(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (_, entry) in query.library().entries() {
        for damage in &entry.members.damage {
            let defect = &damage.defect;
            let known = || query.facts(entry.file).all_defects();
            if damage.member.is_none() && known().any(|known| known == defect) {
                continue;
            }
            let what = format!("{} {}", defect.place(), defect.what);
            let member = damage.member.map(|offset| {
                let mut list = entry.members.list.iter();
                let member = list.find(|member| member.offset == offset);
                (offset, member.map(|member| entry.members.name(member)).unwrap_or_default())
            });
            let message = match member {
                Some((offset, b"")) => format!("the member at {offset:#x}: {what}"),
                Some((offset, name)) => format!("member {} at {offset:#x}: {what}", show(name)),
                None => what.clone(),
            };
            let mut finding = query.about(RULE.id, entry.file, message);
            finding.member = member.map(|(_, name)| name.to_vec()).filter(|name| !name.is_empty());
            finding.cause = Some(CauseHint::DamagedFile);
            finding.detail = Some(what.into_bytes());
            out.push(finding);
        }
    }
    out
}
