//! `pkgconfig-missing-file`: a flag of a package file names a file or directory that does not
//! exist.

use super::{Query, Rule};
use crate::audit::MissingFlag;
use crate::catalogue::PACKAGE_TEXT;
use crate::finding::Findings;
use crate::format::pkg_config::FlagKind;
use crate::text::show;
use crate::wants::Wants;
use std::os::unix::ffi::OsStrExt as _;

pub(super) static RULE: Rule = Rule::new(
    "pkgconfig-missing-file",
    PACKAGE_TEXT,
    "a pkg-config file names a library or directory that does not exist",
    DOCS,
    check,
)
.keys(&["detail"])
.wants(Wants::PKG_CONFIG);

const DOCS: &str = "\
## What it does

Reads the `*.pc` files in directories named `pkgconfig`, as pkgconf does. Reports flags of `Cflags` and `Libs` that
name something missing:

- `-I` and `-L` directories and absolute paths, if they are below the package's own prefix or below a build
  directory (`/build`, `/home`, `/tmp`, …)
- libraries of `-l` that are neither in the `-L` directories of the package or of a package that it requires, nor in
  the directories of the system

## Why it matters

Every package that is built against this one gets these flags. The build of such a package fails, often much later.

## Example

```text
error[pkgconfig-missing-file] lib/pkgconfig/foo.pc: -lfoo: cannot find libfoo.so or libfoo.a (line 9)
error[pkgconfig-missing-file] lib/pkgconfig/foo.pc: -I/build/src/include: a build directory, which does not exist
```

## How to fix

Install the file, or correct `prefix`, `libdir` and `includedir` in the template of the package file.

## Limits

`Libs.private` is not checked: static libraries of dependencies are often not installed. Libraries of the compiler
and of the C library are assumed to exist. If the audited system cannot link a program (it has no `libc.so`), only a
library with the name of the package is checked. If a file lies outside of its `prefix`, as in an unpacked
package, its paths are looked up in the unpacked tree. If a required package is not found, libraries are not checked.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for file in &query.package_text().pkg_config {
        for missing in &file.missing {
            let mut finding = query.about_text(RULE.id, &file.path, message(missing));
            // The prefix may differ between installations, so `detail` is relative to it.
            let prefix = finding.file.prefix.as_ref().map(|prefix| prefix.as_os_str().as_bytes());
            finding.detail = Some(written(missing, prefix.unwrap_or_default()));
            out.push(finding);
        }
    }
    out
}

/// The flag in canonical form, with a path relative to `prefix`.
fn written(missing: &MissingFlag, prefix: &[u8]) -> Vec<u8> {
    let below = |path: &[u8]| {
        let inside = path.strip_prefix(prefix).and_then(|rest| rest.strip_prefix(b"/"));
        inside.filter(|_| !prefix.is_empty()).unwrap_or(path).to_vec()
    };
    match &missing.flag.kind {
        FlagKind::Include(dir) => [b"-I", &*below(dir)].concat(),
        FlagKind::LibDir(dir) => [b"-L", &*below(dir)].concat(),
        FlagKind::Lib(name) => [b"-l", name.as_slice()].concat(),
        FlagKind::File(path) | FlagKind::Other(path) => below(path),
    }
}

fn message(missing: &MissingFlag) -> String {
    let (flag, line) = (show(&written(missing, b"")), missing.flag.line);
    let what = match &missing.flag.kind {
        _ if missing.is_build => "a build directory, which does not exist".to_owned(),
        FlagKind::Lib(name) => match name.strip_prefix(b":") {
            Some(file) => format!("cannot find {}", show(file)),
            None => format!("cannot find lib{0}.so or lib{0}.a", show(name)),
        },
        FlagKind::Include(_) | FlagKind::LibDir(_) => "no such directory".to_owned(),
        FlagKind::File(_) | FlagKind::Other(_) => "no such file".to_owned(),
    };
    format!("{flag}: {what} (line {line})")
}
