//! `thin-member-missing`: a thin archive names a file that is not there.

use super::{Query, Rule};
use crate::catalogue::ARCHIVE;
use crate::finding::Findings;
use crate::format::archive::MemberKind;
use crate::text::show;

pub(super) static RULE: Rule = Rule::new(
    "thin-member-missing",
    ARCHIVE,
    "a thin archive names a file that is not there",
    DOCS,
    check,
)
.keys(&["member"])
.leaves_open();

const DOCS: &str = "\
## What it does

Looks for the file of every member of every thin archive, from the directory of the archive on. What
such a member refers to is not known, so that the run is incomplete too.

## Why it matters

A thin archive holds no objects, only their paths. It works in the tree where it was built; installed
or copied without its objects it is empty, and the link that uses it fails.

## Example

```text
error[thin-member-missing] lib/libfoo.a: names obj/foo.o, and there is no such file
```

## How to fix

Install an archive that holds its members: make it without `T` (`ar rcs`), or set the option of the
build system that makes thin ones off.

## Limits

Files outside of what was named on the command line are not looked into; that is said as `undecided`.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (_, shelf) in query.library().shelves() {
        let members = shelf.members.list.iter();
        for member in members {
            let name = shelf.members.name(member);
            let message = match member.kind {
                MemberKind::Missing => format!("names {}, and there is no such file", show(name)),
                MemberKind::NoFile(what) => format!("names {}, which is {what}", show(name)),
                _ => continue,
            };
            let mut finding = query.about(RULE.id, shelf.file, message);
            finding.member = Some(name.to_vec());
            out.push(finding);
        }
    }
    out
}
