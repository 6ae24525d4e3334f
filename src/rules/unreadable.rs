//! `unreadable`: a file or directory that could not be opened or read.

use super::{Query, Rule};
use crate::catalogue::INPUT;
use crate::catalogue::RuleId;
use crate::finding::{CauseHint, Finding, Findings};
use crate::resolve::loader::ConfigDefect;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

pub(super) static RULE: Rule =
    Rule::new("unreadable", INPUT, "a file or directory could not be read", DOCS, check).keys(&[]);

const DOCS: &str = "\
## What it does

Reports every file and directory below the given paths that could not be opened, listed or read. Special files
(FIFO, socket, device) are reported and never opened. If the loader's ld.so.cache or ld.so.preload exists and
cannot be read, it is reported, and the search continues without it.

## Why it matters

A file that was not read was not audited. The exit status is 3 if there is no worse finding.

## Example

```text
incomplete[unreadable] lib/private: permission denied
```

## How to fix

Run with permission to read the tree, or omit the path. `--allow unreadable` accepts the finding.

## Limits

This rule does not report dangling links (see `dangling-link`); they are counted as links. An unreadable directory of
a stage (`--staged`) ends the run with status 2: the installed system is not known without it.
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
    let devices = query.devices().unreadable.iter().map(|(file, reason)| {
        damaged(query.about(RULE.id, *file, format!("its device code: {reason}")))
    });
    walked
        .chain(refused)
        .chain(devices)
        .chain(config.map(|fault| about_config(query, RULE.id, fault)))
        .collect()
}

/// A finding of `rule` about a defect in a configuration file of a loader.
pub(super) fn about_config(query: &Query<'_>, rule: RuleId, fault: &ConfigDefect) -> Box<Finding> {
    let path = Path::new(OsStr::from_bytes(&fault.path));
    let located = query.prefixes().locate(path).into();
    damaged(Finding::new(rule, located, fault.what.clone()))
}

fn damaged(mut finding: Box<Finding>) -> Box<Finding> {
    finding.cause = Some(CauseHint::DamagedFile);
    finding
}
