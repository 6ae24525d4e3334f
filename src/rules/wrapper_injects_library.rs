//! `wrapper-injects-library`: a compiler wrapper adds a library to every link.

use super::{Query, Rule};
use crate::audit::TextPathKind;
use crate::catalogue::PACKAGE_TEXT;
use crate::finding::Findings;
use crate::text::show_path;
use crate::wants::Wants;
use std::os::unix::ffi::OsStrExt as _;

pub(super) static RULE: Rule = Rule::new(
    "wrapper-injects-library",
    PACKAGE_TEXT,
    "a compiler wrapper adds a library to every link",
    DOCS,
    check,
)
.keys(&["detail"])
.wants(Wants::LOOSE_TEXT);

const DOCS: &str = "\
## What it does

Reports `-l` flags in the files of a compiler wrapper: `nix-support/*` of Nix, the configuration files of clang
(`*clang*.cfg`), and the specs that GCC reads without an option (`lib/gcc/TARGET/VERSION/specs`, for Linux). In
these specs, it also reports `-L`, `-B` and `-rpath` of a directory outside of the compiler's prefix and of the system's
library directories.

## Why it matters

The wrapper adds the flag to every link, also to links for other machines. With `-lunwind`, a link of device code
ends with `libunwind.so is incompatible with …`. Every linked program needs a library that it does not use.

## Example

```text
error[wrapper-injects-library] nix-support/cc-ldflags: adds -lunwind to every link (line 1)
```

## How to fix

Remove the flag from the wrapper, and link the library where it is used. For a single package, use the compiler
without its wrapper.

## Limits

Flags that a hook or script computes are not seen. Other `-L` and `-B` are not reported: wrappers need them to find the
C library. Specs in braces (`%{…}`) depend on options and are not reported, and neither are files for `-specs=`.
";

fn check(query: &Query<'_>) -> Findings {
    let injected = query.package_text().loose.iter();
    let injected = injected.filter(|loose| loose.kind == TextPathKind::Injected);
    injected
        .map(|loose| {
            let message =
                format!("adds {} to every link (line {})", show_path(&loose.path), loose.line);
            let mut finding = query.about_text(RULE.id, &loose.file, message);
            finding.detail = Some(loose.path.as_os_str().as_bytes().to_vec());
            finding
        })
        .collect()
}
