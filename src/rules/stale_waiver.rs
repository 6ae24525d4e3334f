//! `stale-waiver`: a waiver that waives nothing.

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

Reports every `[[waive]]` entry that matches no finding of the run. It is judged only against what the
run looked at: an entry with `path` must match the path of a file that was read, one without is judged
where a directory was given.

## Why it matters

What a waiver was for is fixed or was misspelt. Left where it is, it waits for the next fault that
looks alike and hides it.

## Example

```text
warning[stale-waiver] linkaudit.toml: line 12 waives nothing: undefined-symbol symbol=Py*
```

## How to fix

Remove the entry, or set its selectors right.

## Limits

Entries for rules that are not there yet or did not run, and those of built-in policies, are not
reported. How many matched nothing because what they are about was not looked at is said with `-v`.
Entries for this rule and for `expired-waiver` are judged too, and cannot be waived themselves.
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
