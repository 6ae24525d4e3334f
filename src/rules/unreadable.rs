//! `unreadable`: what could not be opened or read.

use super::{Context, Rule};
use crate::catalogue::INPUT;
use crate::finding::{Finding, Findings};

pub(super) static RULE: Rule = Rule {
    id: "unreadable",
    group: INPUT,
    summary: "a file or directory could not be read",
    docs: DOCS,
    check,
};

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

fn check(context: &Context<'_>) -> Findings {
    let walked = context.audit.problems.iter().map(|problem| {
        let located = context.audit.prefixes.locate(&problem.path).into();
        Finding::new(RULE.id, located, problem.reason.clone())
    });
    let refused = context.audit.corpus.files.entries().filter_map(|(file, facts)| {
        let reason = facts.unreadable.clone()?;
        Some(context.about(RULE.id, file, reason))
    });
    walked.chain(refused).collect()
}
