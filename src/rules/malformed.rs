//! `malformed`: damage that was met while reading.

use super::{Query, Rule};
use crate::catalogue::INPUT;
use crate::finding::{CauseHint, Findings};
use crate::format::Defect;
use crate::id::{FastSet, FileId};
use crate::text::show;
use std::cell::OnceCell;

pub(super) static RULE: Rule =
    Rule::new("malformed", INPUT, "a file is damaged, or changed while it was read", DOCS, check)
        .keys(&["detail"]);

const DOCS: &str = "\
## What it does

Names the damage that was met in a file that was read: the table, the offset in the file and what
is wrong there. Of programs and libraries only what a loader uses is looked at; section headers are not.
Of relocatable objects and members of archives it is what a linker needs to take their symbols.

All that lies beyond the end of a file is one finding: how long the file is, how long it would have to
be, and the first thing in it that is lost. In JSON `detail` names all that is lost. What seems wrong
in a table because another one is lost is not said.

A damaged ld.so.cache is named too. The search goes on with as much of it as the loader would use.

## Why it matters

What could not be read could not be audited, and a loader may crash on it. The rest of the audit
stands; the exit status is 3 if nothing worse was found.

## Example

```text
incomplete[malformed] lib/libfoo.so: dynamic section at 0x2e08 has no DT_NULL
incomplete[malformed] bin/app: is truncated at 8192 bytes, its headers speak of 12304: program headers
at 0x2df8 hold a PT_LOAD that ends beyond the end of the file, and 1 more
```

## How to fix

Build or copy the file again. If a good file is reported, that is a fault of linkaudit.

## Limits

Damage outside the tables that are read is not seen: linkaudit is no checker of files. Symbol tables of
objects are read if the audited objects have at most 64 MiB in all. A header that
gives too large a size looks like a truncated file. Files of other systems are counted and not
checked.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Vec::new();
    let loaded = OnceCell::new();
    for (file, facts) in query.files() {
        if facts.foreign().is_some() {
            // A file that a loader maps nevertheless is judged like the others.
            let loaded: &FastSet<FileId> = loaded.get_or_init(|| {
                let closures = query.entry_points().map(|(_, closure)| closure);
                closures.flat_map(|closure| closure.found().map(|(_, file)| file)).collect()
            });
            if !loaded.contains(&file) {
                continue;
            }
        }
        let mut defects: Vec<_> = facts.all_defects().collect();
        defects.sort();
        defects.dedup();
        let (mut lost, other): (Vec<&Defect>, Vec<_>) =
            defects.into_iter().partition(|defect| defect.end.is_some());
        lost.sort_by_key(|defect| defect.offset);
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

/// The sentence about a defect, and the detail.
fn damage(defect: &Defect) -> (String, String) {
    let place = defect.place();
    (format!("{place} {}", defect.what), format!("{place}: {}", defect.what))
}

/// All that lies beyond the end of a file of `len` bytes is one fact: it was cut off. The sentence
/// has the first in the file, the detail has all.
fn truncated(len: u64, lost: &[&Defect]) -> Option<(String, String)> {
    let (first, others) = lost.split_first()?;
    let end = lost.iter().filter_map(|defect| defect.end).max()?;
    let (first, _) = damage(first);
    let more = match others.len() {
        0 => String::new(),
        n => format!(", and {n} more"),
    };
    let message = format!("is truncated at {len} bytes, its headers speak of {end}: {first}{more}");
    let all: Vec<String> = lost.iter().map(|defect| damage(defect).1).collect();
    Some((message, format!("truncated at {len} of {end} bytes: {}", all.join("; "))))
}

/// Damaged members of archives, each with its name and the offset of its header.
fn members(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (_, shelf) in query.library().shelves() {
        for damage in &shelf.members.damage {
            let defect = &damage.defect;
            let known = || query.facts(shelf.file).all_defects();
            if damage.member.is_none() && known().any(|known| known == defect) {
                continue;
            }
            let what = format!("{} {}", defect.place(), defect.what);
            let member = damage.member.map(|offset| {
                let mut list = shelf.members.list.iter();
                let member = list.find(|member| member.offset == offset);
                (offset, member.map(|member| shelf.members.name(member)).unwrap_or_default())
            });
            let message = match member {
                Some((offset, b"")) => format!("the member at {offset:#x}: {what}"),
                Some((offset, name)) => format!("member {} at {offset:#x}: {what}", show(name)),
                None => what.clone(),
            };
            let mut finding = query.about(RULE.id, shelf.file, message);
            finding.member = member.map(|(_, name)| name.to_vec()).filter(|name| !name.is_empty());
            finding.cause = Some(CauseHint::DamagedFile);
            finding.detail = Some(what.into_bytes());
            out.push(finding);
        }
    }
    out
}
