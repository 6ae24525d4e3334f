//! `thin-member-missing`: a thin archive names a member that does not exist or is not a readable
//! file.

use super::{Query, Rule};
use crate::catalogue::ARCHIVE;
use crate::finding::Findings;
use crate::format::archive::MemberKind;
use crate::text::show;

pub(super) static RULE: Rule = Rule::new(
    "thin-member-missing",
    ARCHIVE,
    "a thin archive names a file that does not exist",
    DOCS,
    check,
)
.keys(&["member"])
.leaves_open();

const DOCS: &str = "\
## What it does

Looks up the file of every member of every thin archive, relative to the directory of the archive. The
references of a missing member are unknown, so the run is also incomplete.

## Why it matters

A thin archive holds the paths of objects, not the objects. It works in the tree where it was built. If it is
installed or copied without its objects, links that use it fail.

## Example

```text
error[thin-member-missing] lib/libfoo.a: names obj/foo.o, which does not exist
```

## How to fix

Install an archive that holds its members: create it without `T` (`ar rcs`), or disable thin archives in the
build system.

## Limits

Members outside the given paths are not opened; they are reported as `undecided`.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (_, entry) in query.library().entries() {
        let members = entry.members.list.iter();
        for member in members {
            let name = entry.members.name(member);
            let message = match member.kind {
                MemberKind::Missing => format!("names {}, which does not exist", show(name)),
                MemberKind::NoFile(what) => format!("names {}, which is {what}", show(name)),
                _ => continue,
            };
            let mut finding = query.about(RULE.id, entry.file, message);
            finding.member = Some(name.to_vec());
            out.push(finding);
        }
    }
    out
}
