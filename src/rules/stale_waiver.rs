//! `stale-waiver`: a waiver that matches no finding.

use super::demand::place;
use super::words::about_waiver;
use super::{Rule, WaiverState};
use crate::catalogue::WAIVERS;
use crate::finding::Finding;
use crate::policy::Waiver;

pub(super) static RULE: Rule = Rule::of_waivers(
    "stale-waiver",
    WAIVERS,
    "a waiver of a policy matches no finding",
    DOCS,
    check,
)
.keys(&["detail"])
.asked_if(|plan| !plan.policy.waivers.is_empty());

const DOCS: &str = "\
## What it does

Reports every `[[waive]]` entry that matches no finding of the run. The rule checks only entries that the run could
have matched: the `path` of an entry must match an audited file. For an entry without `path`, the command line must
name a directory.

## Why it matters

The finding was fixed, or the waiver is misspelt. A waiver that stays may hide the next similar defect.

## Example

```text
warning[stale-waiver] linkaudit.toml: line 12 waives nothing: undefined-symbol symbol=Py*
```

## How to fix

Remove the entry, or correct its selectors.

## Limits

Entries for rules that did not run, and entries of built-in policies, are not reported.
`-v` counts the entries that the run could not match. A waiver of this rule or of `expired-waiver` is
checked too; findings about such a waiver cannot be waived.
";

fn check(waiver: &Waiver, state: WaiverState) -> Option<Box<Finding>> {
    let is_stale = state == WaiverState::Stale;
    is_stale.then(|| {
        about_waiver(RULE.id, waiver, |text| {
            let line = waiver.origin.line;
            match line {
                0 => format!("{} waives nothing: {text}", place(&waiver.origin)),
                _ => format!("line {line} waives nothing: {text}"),
            }
        })
    })
}
