//! `wrong-resource-dir`: a text file names a resource directory of clang with the wrong version.

use super::{Query, Rule};
use crate::audit::TextPathKind;
use crate::catalogue::PACKAGE_TEXT;
use crate::finding::Findings;
use crate::text::show_path;
use crate::wants::Wants;
use std::os::unix::ffi::OsStrExt as _;

pub(super) static RULE: Rule = Rule::new(
    "wrong-resource-dir",
    PACKAGE_TEXT,
    "a wrapper names a clang resource directory of another version",
    DOCS,
    check,
)
.keys(&["detail"])
.wants(Wants::LOOSE_TEXT);

const DOCS: &str = "\
## What it does

Reports a path below `lib/clang/VERSION` in a compiler wrapper or script, if two conditions hold. The path does not
exist, and a directory of the same major version does: `lib/clang/18.0.0` instead of `lib/clang/18`.

## Why it matters

Since version 16, clang names the directory by its major version only. A wrapper with the full version passes a
directory that does not exist: `stddef.h` and the runtime libraries are not found.

## Example

```text
error[wrong-resource-dir] nix-support/cc-cflags: lib/clang/18.0.0/include does not exist, lib/clang/18 does (line 1)
```

## How to fix

Use the major version in the wrapper (`cmake/Modules/GetClangResourceDir.cmake` of LLVM has the rule).

## Limits

If no directory of that major version exists, `text-missing-path` reports the path.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for loose in &query.package_text().loose {
        let TextPathKind::ResourceDir(other) = &loose.kind else { continue };
        let prefix = query.prefixes().locate(&loose.file).prefix.unwrap_or_default();
        let below =
            |path: &std::path::Path| path.strip_prefix(&prefix).unwrap_or(path).to_path_buf();
        let (path, other) = (below(&loose.path), below(other));
        let (shown, other) = (show_path(&path), show_path(&other));
        let message = format!("{shown} does not exist, {other} does (line {})", loose.line);
        let mut finding = query.about_text(RULE.id, &loose.file, message);
        finding.detail = Some(path.as_os_str().as_bytes().to_vec());
        out.push(finding);
    }
    out
}
