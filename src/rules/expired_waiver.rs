//! `expired-waiver`: a waiver whose expiry date has passed.

use super::demand::place;
use super::words::about_waiver;
use super::{Rule, WaiverState};
use crate::catalogue::WAIVERS;
use crate::finding::Finding;
use crate::policy::Waiver;

pub(super) static RULE: Rule =
    Rule::of_waivers("expired-waiver", WAIVERS, "a waiver of a policy has expired", DOCS, check)
        .keys(&["detail"])
        .asked_if(|plan| !plan.policy.waivers.is_empty());

const DOCS: &str = "\
## What it does

Reports every `[[waive]]` entry whose `expires` lies before today (UTC). Such an entry no longer waives: its
findings are reported. As with `stale-waiver`, an entry counts only if the run could have matched it.

## Why it matters

The entry set a last day for accepting a defect, and that day is over.

## Example

```text
warning[expired-waiver] linkaudit.toml: line 12 expired on 2026-06-01: undefined-symbol symbol=Py*
```

## How to fix

Fix the waived finding, or set another day.

## Limits

An entry waives until the end of its last day. An expired entry of a built-in policy is reported only if it
matches a finding.
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
