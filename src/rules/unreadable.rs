//! `unreadable`: what could not be opened or read.

use super::{Query, Rule};
use crate::catalogue::INPUT;
use crate::finding::{CauseHint, Finding, Findings};

pub(super) static RULE: Rule =
    Rule::new("unreadable", INPUT, "a file or directory could not be read", DOCS, check).keys(&[]);

const DOCS: &str = "\
## What it does

Names every file and directory below the given paths that could not be opened, listed or read, and
every special file (FIFO, socket, device), which is recognised and never opened.

## Why it matters

What was not read was not audited. The exit status is 3 if nothing worse was found.

## Example

```text
incomplete[unreadable] lib/private: permission denied
```

## How to fix

Run with the rights to read the tree, or leave the path out. `--allow unreadable` accepts it.

## Limits

Links that lead nowhere are not unreadable; they are counted as links.
";

fn check(query: &Query<'_>) -> Findings {
    let walked = query.problems().iter().map(|problem| {
        let located = query.prefixes().locate(&problem.path).into();
        damaged(Finding::new(RULE.id, located, problem.reason.clone()))
    });
    let refused = query.files().filter_map(|(file, facts)| {
        let reason = facts.unreadable.clone()?;
        Some(damaged(query.about(RULE.id, file, reason)))
    });
    walked.chain(refused).collect()
}

fn damaged(mut finding: Box<Finding>) -> Box<Finding> {
    finding.cause = Some(CauseHint::DamagedFile);
    finding
}
