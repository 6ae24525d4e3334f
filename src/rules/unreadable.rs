//! `unreadable`: what could not be opened or read.

use super::{Query, Rule};
use crate::catalogue::INPUT;
use crate::catalogue::RuleId;
use crate::finding::{CauseHint, Finding, Findings};
use crate::resolve::loader::ConfigFault;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

pub(super) static RULE: Rule =
    Rule::new("unreadable", INPUT, "a file or directory could not be read", DOCS, check).keys(&[]);

const DOCS: &str = "\
## What it does

Names every file and directory below the given paths that could not be opened, listed or read, and
every special file (FIFO, socket, device), which is recognised and never opened. The same for the
ld.so.cache and ld.so.preload of a loader, if they are there; the search goes on without them.

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
    let config = query.config_faults().into_iter().filter(|fault| !fault.is_damage);
    walked.chain(refused).chain(config.map(|fault| about_config(query, RULE.id, fault))).collect()
}

/// A finding about a configuration file of a loader.
pub(super) fn about_config(query: &Query<'_>, rule: RuleId, fault: &ConfigFault) -> Box<Finding> {
    let path = Path::new(OsStr::from_bytes(&fault.path));
    let located = query.prefixes().locate(path).into();
    damaged(Finding::new(rule, located, fault.what.clone()))
}

fn damaged(mut finding: Box<Finding>) -> Box<Finding> {
    finding.cause = Some(CauseHint::DamagedFile);
    finding
}
