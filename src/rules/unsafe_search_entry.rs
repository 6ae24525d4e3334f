//! `unsafe-search-entry`: an entry of a search path where other users can put a library.

use super::{Query, Rule};
use crate::catalogue::SEARCH_PATH;
use crate::finding::Findings;
use crate::wants::Wants;

pub(super) static RULE: Rule = Rule::new(
    "unsafe-search-entry",
    SEARCH_PATH,
    "an entry of a search path names a directory that others control",
    DOCS,
    check,
)
.keys(&["detail"])
.wants(Wants::SEARCH_ENTRIES);

const DOCS: &str = "\
## What it does

Reports entries of DT_RPATH and DT_RUNPATH that

- are empty or relative: the loader takes them from the current directory
- lie below `/tmp`, `/var/tmp`, `/home`, `/root`, `/build`, `/usr/src` or `/nix/build`: build directories
- lie below the current directory and outside of the prefix: a gate runs in the directory of the build
- name a directory that every user may write to, or that every user can create or replace

## Why it matters

A user who can write to the directory decides which code the program runs. An empty entry (a leading, trailing
or double colon) is enough: the program then loads a library from the directory in which a user starts it.

## Example

```text
warning[unsafe-search-entry] bin/app: DT_RUNPATH entry /tmp/build/lib: below /tmp; no library is found there
```

## How to fix

Remove the entry from the link. Build systems leave such entries in programs that were not installed by them: use
`cmake --install`, `make install` or `patchelf --shrink-rpath`, which removes entries that find nothing. If a
library is found there, move it and correct the path.

## Limits

Rights of groups and access control lists are not checked. Entries that begin with `$ORIGIN` are not checked, and
neither are entries inside an audited prefix that lies below such a directory itself. The current directory does not
count with `--cwd` or `--root`, inside the prefix, and below `/usr`, `/opt`, `/srv` and other places of packages.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (file, of) in query.search_entries() {
        for entry in &of.entries {
            let Some(reason) = query.unsafe_reason(file, entry) else { continue };
            let words = query.entry_text(file, entry);
            let found = query.what_is_found(of, entry);
            let message = format!("{words}: {reason}; {found}");
            out.push(query.about_entry(RULE.id, file, entry, message));
        }
    }
    out
}
