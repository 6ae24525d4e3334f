//! `missing-device-bitcode`: a compiler wrapper names a directory that contains no device
//! libraries.

use super::{Query, Rule};
use crate::audit::TextPathKind;
use crate::catalogue::PACKAGE_TEXT;
use crate::finding::Findings;
use crate::text::show_path;
use crate::wants::Wants;
use std::os::unix::ffi::OsStrExt as _;

pub(super) static RULE: Rule = Rule::new(
    "missing-device-bitcode",
    PACKAGE_TEXT,
    "a wrapper names a directory without ROCm device libraries",
    DOCS,
    check,
)
.keys(&["detail"])
.wants(Wants::LOOSE_TEXT);

const DOCS: &str = "\
## What it does

Reports `--rocm-device-lib-path` and `--hip-device-lib-path` in compiler wrappers, configuration files of clang and
executable scripts if the directory has no `ocml.bc`.

## Why it matters

clang ends with `cannot find ROCm device library`, at build time and where code is compiled at run time.

## Example

```text
error[missing-device-bitcode] bin/hipcc: no ocml.bc in amdgpu/bitcode (line 12)
```

## How to fix

Name the directory that has the libraries: `amdgcn/bitcode` of the ROCm prefix, or
`lib/clang/VERSION/amdgcn/bitcode` of the compiler. To require them in a prefix, use `[require] files` in a policy;
the built-in policy `rocm` does.

## Limits

Paths with variables are not checked, and neither are the directories that the compiler searches by default.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for loose in &query.package_text().loose {
        if loose.kind != TextPathKind::Bitcode {
            continue;
        }
        let prefix = query.prefixes().locate(&loose.file).prefix.unwrap_or_default();
        let path = loose.path.strip_prefix(&prefix).unwrap_or(&loose.path);
        let message = format!("no ocml.bc in {} (line {})", show_path(path), loose.line);
        let mut finding = query.about_text(RULE.id, &loose.file, message);
        finding.detail = Some(path.as_os_str().as_bytes().to_vec());
        out.push(finding);
    }
    out
}
