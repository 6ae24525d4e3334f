//! `readers-disagree`: a second, independent reader reads a file differently.

use super::{Query, Rule};
use crate::catalogue::INPUT;
use crate::finding::Findings;
use crate::format::cross_check::ReadingDifference;
use crate::id::FileId;
use crate::text::show;

pub(super) static RULE: Rule = Rule::new(
    "readers-disagree",
    INPUT,
    "a second reader reads a file differently (--cross-check)",
    DOCS,
    check,
)
.keys(&["detail"])
.asked_if(|plan| plan.cross_check);

const DOCS: &str = "\
## What it does

With `--cross-check`, goblin reads every dynamic ELF file again, and the `ar` crate every archive. The rule
compares needs, soname, search paths, dynamic symbols with their versions, member names and the index, and
reports each difference.

## Why it matters

All findings depend on the readers. Two independent readers that agree are strong evidence. If they differ, one
of them is wrong, or the file is ambiguous and other tools may read it differently.

## Example

```text
incomplete[readers-disagree] lib/libfoo.so: runpath is /a, and the second reader has /b:/a
```

## How to fix

Check the file with a third tool (`readelf -W -d --dyn-syms`). If it has contradictory entries, build it again.
If linkaudit is wrong, please report a bug.

## Limits

Damaged files, thin archives, BSD and 64-bit indexes, ELF files larger than 256 MiB, and files that a second reader
rejects are not compared. The summary and the JSON key `cross_check` count them. Versions are compared only if the
section headers lead to the tables of the dynamic section. Symbols are compared only if both readers find the same table
length.
";

/// Maximum number of differences that are reported for one file. A reader that misreads one symbol
/// usually misreads all.
const MOST: usize = 100;

fn check(query: &Query<'_>) -> Findings {
    let found = query.second_reading().into_iter();
    let files = found.flat_map(|found| found.differences.chunk_by(|(a, _), (b, _)| a == b));
    files.flat_map(|differences| of_file(query, differences)).collect()
}

fn of_file(query: &Query<'_>, differences: &[(FileId, ReadingDifference)]) -> Findings {
    let word = |bytes: &Option<Vec<u8>>| match bytes.as_deref() {
        None => "not there".to_owned(),
        Some(b"") => "empty".to_owned(),
        Some(bytes) => show(bytes),
    };
    let mut out = Findings::new();
    for (file, difference) in differences.iter().take(MOST) {
        let what = &difference.what;
        let (ours, theirs) = (word(&difference.ours), word(&difference.theirs));
        let message = format!("{what} is {ours}, and the second reader has {theirs}");
        let mut finding = query.about(RULE.id, *file, message);
        finding.detail = Some(format!("{what}: {ours} / {theirs}").into());
        out.push(finding);
    }
    if let Some((file, _)) = differences.get(MOST) {
        let more = differences.len() - MOST;
        let message = format!("{more} more differences are not listed");
        let mut finding = query.about(RULE.id, *file, message);
        finding.detail = Some(b"more".to_vec());
        out.push(finding);
    }
    out
}
