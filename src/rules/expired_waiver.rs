//! `expired-waiver`: a waiver whose day is over.

use super::demand::place;
use super::words::about_waiver;
use super::{Rule, WaiverState};
use crate::catalogue::WAIVERS;
use crate::finding::Finding;
use crate::policy::Waiver;

pub(super) static RULE: Rule = Rule::of_waivers(
    "expired-waiver",
    WAIVERS,
    "a waiver of a policy has expired and waives nothing any more",
    DOCS,
    check,
)
.keys(&["detail"])
.asked_if(|plan| !plan.policy.waivers.is_empty());

const DOCS: &str = "\
## What it does

Reports every `[[waive]]` entry whose `expires` lies before today (UTC). Such an entry does not waive:
the findings that it matches are reported. It is judged only against what the run looked at, as
`stale-waiver` is.

## Why it matters

Somebody said until when a fault would be accepted, and that day is over.

## Example

```text
warning[expired-waiver] linkaudit.toml: line 12 expired on 2026-06-01: undefined-symbol symbol=Py*
```

## How to fix

Fix what was waived, or decide anew and set another day.

## Limits

An entry waives on the whole of its last day. An expired entry of a built-in policy is reported where
it matches a finding.
";

fn check(waiver: &Waiver, state: WaiverState) -> Option<Box<Finding>> {
    let is_expired = state == WaiverState::Expired;
    is_expired.then(|| {
        about_waiver(RULE.id, waiver, |text| {
            let day = waiver.expires.map(|day| format!(" on {day}")).unwrap_or_default();
            match waiver.origin.line {
                0 => format!("{} expired{day}: {text}", place(&waiver.origin)),
                line => format!("line {line} expired{day}: {text}"),
            }
        })
    })
}
