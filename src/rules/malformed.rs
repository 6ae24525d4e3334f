//! `malformed`: damage that was met while reading.

use super::{Context, Rule};
use crate::catalogue::INPUT;
use crate::finding::Findings;
use crate::text::show;

pub(super) static RULE: Rule = Rule {
    id: "malformed",
    group: INPUT,
    summary: "a file is damaged, or changed while it was read",
    docs: DOCS,
    check,
};

const DOCS: &str = "\
## What it does

Names the damage that was met in a file that was read: the table, the offset in the file and what
is wrong there. Only what a loader uses is looked at; section headers are not.

## Why it matters

What could not be read could not be audited, and a loader may crash on it. The rest of the audit
stands; the exit status is 3 if nothing worse was found.

## Example

```text
incomplete[malformed] lib/libfoo.so: dynamic symbol table at 0x2c8 ends beyond the end of the file
```

## How to fix

Build or copy the file again. If a good file is reported, that is a fault of linkaudit.

## Limits

Damage outside the tables that are read is not seen: linkaudit is no checker of files.
";

fn check(context: &Context<'_>) -> Findings {
    let mut out = Vec::new();
    for (file, facts) in context.audit.corpus.files.entries() {
        let mut defects: Vec<_> = facts.all_defects().collect();
        defects.sort();
        defects.dedup();
        for defect in defects {
            let name = defect.table.name();
            let message = format!("{name} at {:#x} {}", defect.offset, defect.what);
            let mut finding = context.about(RULE.id, file, message);
            finding.detail =
                Some(format!("{name} at {:#x}: {}", defect.offset, defect.what).into());
            out.push(finding);
        }
    }
    out.extend(members(context));
    out
}

/// Damaged members of archives, each with its name and the offset of its header.
fn members(context: &Context<'_>) -> Findings {
    let mut out = Findings::new();
    for (_, shelf) in context.audit.library.shelves() {
        for damage in &shelf.members.damage {
            let defect = &damage.defect;
            let known = || context.audit.corpus.files[shelf.file].all_defects();
            if damage.member.is_none() && known().any(|known| known == defect) {
                continue;
            }
            let what = format!("{} at {:#x} {}", defect.table.name(), defect.offset, defect.what);
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
            let mut finding = context.about(RULE.id, shelf.file, message);
            finding.member = member.map(|(_, name)| name.to_vec()).filter(|name| !name.is_empty());
            finding.detail = Some(what.into_bytes());
            out.push(finding);
        }
    }
    out
}
