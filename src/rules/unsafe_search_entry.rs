//! `unsafe-search-entry`: an entry of a search path where other users can put a library.

use super::{Query, Rule};
use crate::catalogue::SEARCH_PATH;
use crate::finding::Findings;
use crate::wants::Wants;

pub(super) static RULE: Rule = Rule::new(
    "unsafe-search-entry",
    SEARCH_PATH,
    "other users may control a directory of a search path",
    DOCS,
    check,
)
.keys(&["detail"])
.wants(Wants::SEARCH_ENTRIES);

const DOCS: &str = "\
## What it does

Reports entries of DT_RPATH and DT_RUNPATH that

- are empty or relative, or begin with `/proc/self/cwd`: the loader resolves them against the current directory (musl
  skips empty entries)
- lie below `/tmp`, `/var/tmp`, `/home`, `/root`, `/build`, `/builddir`, `/usr/src` or `/nix/build`: build directories
- lie in a directory where a CI system builds: `/builds` (GitLab), `/__w` or `/github/workspace` (GitHub),
  `/var/lib/jenkins` or `/var/jenkins_home`, `/var/lib/buildkite-agent`, `/drone/src`, `/opt/atlassian/pipelines`
  (Bitbucket)
- lie below the current directory and outside of the prefix. Package builds run linkaudit in the build directory, so
  such an entry leads into the build
- name a directory that every user may write to, or that every user can create or replace

`..` components are resolved, and each link on the path is followed and checked too. An entry that begins with
`$ORIGIN` is checked if it leads out of the prefix.

## Why it matters

A user who can write to the directory decides which code the program runs. An empty entry (a leading, trailing
or double colon) is enough: the program then loads a library from the directory in which a user starts it.

## Example

```text
warning[unsafe-search-entry] bin/app: DT_RUNPATH entry /tmp/build/lib: below /tmp; no library is found there
```

## How to fix

Remove the entry from the link. Build systems remove such entries when they install a program: use `cmake --install`
or `make install` instead of `cp`. `patchelf --shrink-rpath` removes entries in which no library is found. If a
library is found there, move it and correct the path.

## Limits

Permissions of groups and access control lists are not checked. The audited prefix itself may lie below a directory of
the list above. Three kinds of entries are then not checked: entries inside the prefix, entries that begin with
`$ORIGIN`, and links that lead below the same directory. The check of the current directory is off with `--cwd` or
`--root`. It is also off if the current directory is `/`, or lies in `/usr`, `/opt`, `/srv` or another directory of
packages.
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
