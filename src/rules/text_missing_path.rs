//! `text-missing-path`: a script or other text file in use names a path that does not exist.

use super::{Query, Rule};
use crate::audit::LoosePathKind;
use crate::catalogue::PACKAGE_TEXT;
use crate::finding::Findings;
use crate::text::show_path;
use crate::wants::Wants;
use std::os::unix::ffi::OsStrExt as _;

pub(super) static RULE: Rule = Rule::new(
    "text-missing-path",
    PACKAGE_TEXT,
    "a script, unit or loader file names a path that does not exist",
    DOCS,
    check,
)
.keys(&["detail"])
.wants(Wants::LOOSE_TEXT);

const DOCS: &str = "\
## What it does

Reports absolute paths into the package's own prefix or store that do not exist, in text files that programs read:
the interpreter (`#!`) of executable scripts below `bin`, `sbin` or `libexec`, the program that such a script starts
with `exec`, flags of compiler wrappers (`nix-support/*`, `*.cfg` of clang), `library_path` in files of the Vulkan
and EGL loaders, OpenCL vendors, `ExecStart` of systemd units, `Exec` of desktop files, `dependency_libs` of libtool,
directories in `*.pth` of Python, directories and files in `ld.so.conf` and `ld.so.conf.d/*.conf`, and GCC's specs
(`lib/gcc/TARGET/VERSION/specs`, `*.specs`).
In a prefix with ROCm's compiler, the same for `amdclang`, `amdclang++` and `amdflang` that a script starts by name.

## Why it matters

The kernel says `bad interpreter`, the loader of drivers skips the driver without a word, and a compiler
wrapper ignores a missing include directory until a header is not found. Python and ldconfig skip a missing directory
too, and modules or libraries are then not found.

## Example

```text
error[text-missing-path] bin/tool: #! /opt/app/bin/python3, which does not exist (line 1)
error[text-missing-path] share/vulkan/icd.d/gpu.json: library_path ../lib/libgpu.so, which does not exist (line 4)
```

## How to fix

Correct the path, or install what it names.

## Limits

Paths outside of the prefix, and below `/run`, `/var`, `/tmp`, `/etc` and `/usr/local`, are not judged, and neither
are other paths with variables. Of a script, only its first line and an `exec` that no condition encloses are read.
Units with conditions and desktop files with `TryExec` are skipped. `import` lines of `*.pth` are code and are not
judged; `*.pth` are read in `site-packages` and `dist-packages`. Patterns of `include` may match no file, and the
default directories of the loader may be absent. In specs, words in braces (`%{…}`) and words with other
substitutions are not judged.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for loose in &query.package_text().loose {
        if loose.kind != LoosePathKind::Missing {
            continue;
        }
        let prefix = query.prefixes().locate(&loose.file).prefix;
        let below =
            prefix.and_then(|prefix| Some(loose.path.strip_prefix(prefix).ok()?.to_path_buf()));
        let detail = below.unwrap_or_else(|| loose.path.clone());
        let (what, line) = (loose.what, loose.line);
        let message = format!("{what} {}, which does not exist (line {line})", show_path(&detail));
        let mut finding = query.about_text(RULE.id, &loose.file, message);
        finding.detail = Some(detail.as_os_str().as_bytes().to_vec());
        out.push(finding);
    }
    out
}
