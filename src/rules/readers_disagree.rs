//! `readers-disagree`: a second, independent reader reads a file differently.

use super::{Query, Rule};
use crate::catalogue::INPUT;
use crate::finding::Findings;
use crate::format::second::Difference;
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

With `--cross-check` every dynamic ELF file is read again with goblin and every archive with the `ar`
crate. Needs, soname, search paths, dynamic symbols with their versions, names of members and the
index are compared, and each difference is reported.

## Why it matters

All findings rest on what was read. Two readers that share no code and agree are strong evidence;
where they differ, one of them is wrong, or the file says two things at once and the next tool may
read the other one.

## Example

```text
incomplete[readers-disagree] lib/libfoo.so: runpath is /a here, and /b:/a to the second reader
```

## How to fix

Look at the file with a third tool (`readelf -W -d --dyn-syms`). Build it again if it holds entries
that contradict each other. If linkaudit is wrong, report it.

## Limits

Files that are known to be damaged, thin archives, BSD and 64-bit indexes, ELF files above 256 MiB and
what a second reader refuses are not compared; the summary and the key `cross_check` of the JSON
report count them. Versions are compared where section headers lead to the tables that the dynamic
section names, symbols as far as both readers infer the length of their table.
";

/// Differences reported for one file; a reader that is wrong about one symbol mostly is about all.
const MOST: usize = 100;

fn check(query: &Query<'_>) -> Findings {
    let found = query.second_reading().into_iter();
    let files = found.flat_map(|found| found.differences.chunk_by(|(a, _), (b, _)| a == b));
    files.flat_map(|differences| of_file(query, differences)).collect()
}

fn of_file(query: &Query<'_>, differences: &[(FileId, Difference)]) -> Findings {
    let word = |bytes: &Option<Vec<u8>>| match bytes.as_deref() {
        None => "not there".to_owned(),
        Some(b"") => "empty".to_owned(),
        Some(bytes) => show(bytes),
    };
    let mut out = Findings::new();
    for (file, difference) in differences.iter().take(MOST) {
        let what = &difference.what;
        let (ours, theirs) = (word(&difference.ours), word(&difference.theirs));
        let message = format!("{what} is {ours} here, and {theirs} to the second reader");
        let mut finding = query.about(RULE.id, *file, message);
        finding.detail = Some(format!("{what}: {ours} / {theirs}").into());
        out.push(finding);
    }
    if let Some((file, _)) = differences.get(MOST) {
        let more = differences.len() - MOST;
        let message = format!("{more} more differences to the second reader are not listed");
        let mut finding = query.about(RULE.id, *file, message);
        finding.detail = Some(b"more".to_vec());
        out.push(finding);
    }
    out
}
