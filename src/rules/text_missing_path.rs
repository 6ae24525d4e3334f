//! `text-missing-path`: a script, unit or similar file names a path that does not exist.

use super::{Query, Rule};
use crate::audit::TextPathKind;
use crate::catalogue::PACKAGE_TEXT;
use crate::finding::Findings;
use crate::text::show_path;
use crate::wants::Wants;
use std::os::unix::ffi::OsStrExt as _;

pub(super) static RULE: Rule = Rule::new(
    "text-missing-path",
    PACKAGE_TEXT,
    "a script, unit or similar file names a path that does not exist",
    DOCS,
    check,
)
.keys(&["detail"])
.wants(Wants::LOOSE_TEXT);

const DOCS: &str = "\
## What it does

Reports paths into the package's own prefix or store that do not exist, in text files that programs read. `library_path`
and `*.pth` may have paths relative to their file; elsewhere only absolute paths are checked. The rule reads:

- the interpreter (`#!`) of executable scripts below `bin`, `sbin` or `libexec`, and the program that such a script
  starts with `exec`
- flags of compiler wrappers (`nix-support/*`, `*.cfg` of clang), and GCC's specs (`lib/gcc/TARGET/VERSION/specs`,
  `*.specs`)
- `library_path` in the manifests of Vulkan and EGL, and the libraries of OpenCL vendors
- `ExecStart` of systemd units, and `Exec` of desktop files
- `dependency_libs` of libtool, and directories in `*.pth` of Python
- directories and files in `ld.so.conf` and `ld.so.conf.d/*.conf`

In a prefix with ROCm's compiler, it also reports `amdclang`, `amdclang++` and `amdflang` if a script starts them by
name and they do not exist.

## Why it matters

A shell says `bad interpreter`. The Vulkan and EGL loaders skip the driver silently. A compiler wrapper ignores a
missing include directory until a header is not found. Python and ldconfig also skip a missing directory, and modules
or libraries are then not found.

## Example

```text
error[text-missing-path] bin/tool: #! bin/python3, which does not exist (line 1)
error[text-missing-path] share/vulkan/icd.d/gpu.json: library_path lib/libgpu.so, which does not exist (line 4)
```

## How to fix

Correct the path, or install what it names.

## Limits

Paths outside of the prefix, paths below `/run`, `/var`, `/tmp`, `/etc`, `/dev`, `/proc`, `/sys` and `/usr/local`, and
paths with variables are not checked. In a script, only the first line and an `exec` outside of conditions are read.
Units with conditions and desktop files with `TryExec` are skipped. `*.pth` files are read in `site-packages` and
`dist-packages`, without their `import` lines, which are code. In `ld.so.conf`, an `include` that matches no file and an
absent default directory are not reported. In specs, words in braces (`%{…}`) and words with other substitutions are not
checked.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for loose in &query.package_text().loose {
        if loose.kind != TextPathKind::Missing {
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
