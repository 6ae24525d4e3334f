//! `dead-search-entry`: an entry of a search path is not an existing directory, or has a token that
//! musl does not know. With an unknown token, musl ignores the whole search path.

use super::{Query, Rule};
use crate::audit::EntryState;
use crate::catalogue::SEARCH_PATH;
use crate::finding::Findings;
use crate::wants::Wants;

pub(super) static RULE: Rule = Rule::new(
    "dead-search-entry",
    SEARCH_PATH,
    "a directory of a search path does not exist",
    DOCS,
    check,
)
.keys(&["detail"])
.wants(Wants::SEARCH_ENTRIES);

const DOCS: &str = "\
## What it does

Reports entries of DT_RPATH and DT_RUNPATH that are not existing directories of the audited system, with `$ORIGIN`,
`$LIB` and `$PLATFORM` expanded as the loader does. musl knows `$ORIGIN` alone: the first entry with another token is
reported, because musl then ignores the whole search path.

## Why it matters

The loader probes the directory for each needed library, in every process. Such an entry is often the path of a
build directory, or `$ORIGIN/../lib` with one `..` too many or too few. The library then comes from elsewhere.

## Example

```text
warning[dead-search-entry] bin/app: DT_RUNPATH entry $ORIGIN/../lib64 (/opt/app/bin/../lib64): no such directory
```

## How to fix

Correct the entry, or remove it from the link (`-Wl,-rpath`). Removing it changes no result as long as the
directory does not exist. `patchelf --set-rpath` changes a built file, and `patchelf --shrink-rpath` keeps only
directories in which a needed library is found.

## Limits

An entry that `unsafe-search-entry` reports is not reported again. A directory of another package counts as
missing if that package is not installed. Objects that no entry point loads are not checked. Under a whitelist
(`[provided] only = true`), directories outside of the prefix are not checked. At most 64 entries of an object are
listed.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (file, of) in query.search_entries() {
        for entry in &of.entries {
            let reason = match entry.state {
                EntryState::Absent => "no such directory",
                EntryState::Ignored => {
                    "musl does not know the token and ignores the whole search path"
                }
                EntryState::Directory | EntryState::Unknown => continue,
            };
            if query.unsafe_reason(file, entry).is_some() {
                continue;
            }
            let message = format!("{}: {reason}", query.entry_text(file, entry));
            out.push(query.about_entry(RULE.id, file, entry, message));
        }
        if of.left_out > 0 {
            let message = format!("{} more entries are not checked", of.left_out);
            let mut finding = query.about(RULE.id, file, message);
            finding.detail = Some(b"more".to_vec());
            out.push(finding);
        }
    }
    out
}
