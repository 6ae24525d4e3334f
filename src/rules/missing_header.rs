//! `missing-header`: an installed header includes a header that does not exist.

use super::{Query, Rule};
use crate::catalogue::PACKAGE_TEXT;
use crate::finding::{Evidence, EvidenceKind, Findings};
use crate::text::show;
use crate::wants::Wants;

pub(super) static RULE: Rule = Rule::new(
    "missing-header",
    PACKAGE_TEXT,
    "an installed header includes one that does not exist",
    DOCS,
    check,
)
.keys(&["detail"])
.wants(Wants::HEADERS);

const DOCS: &str = "\
## What it does

Reads the headers in `include` directories of prefixes, and in directories that package files of CMake and pkg-config
name. Reports `#include` of a file that no directory of headers has. Comments, strings and conditions are read as a
compiler for Linux reads them.

## Why it matters

A build that forgets to generate or install a header still succeeds. The compiler stops when another package
includes a header that needs it: `fatal error: foo/generated.h: No such file or directory`.

## Example

```text
error[missing-header] include/migraphx/gemm.hpp: ck/host/device_gemm_multiple_d.hpp: no such header (line 12)
```

## How to fix

Install the header, or build the part of the package that generates it. If only some users need it, put the
`#include` into a condition.

## Limits

Only an `#include` that every C++ compiler for Linux reaches is checked. Conditions on macros of other headers or of
the user's command line are unknown, so an `#include` inside of them is skipped.

The included name must look like one of the same package. One of these must hold:

- The name begins with a directory that exists in an include directory or, for a name in quotes, beside the including
  file.
- On a whole system: the name is in quotes, has no directory, and shares its first four letters with the including
  file or its directory.
- In any other prefix: the name is in quotes, has no directory, and begins with the name of the including file's
  directory and `_` or `-`.

A file of the same name in any directory of headers counts as found, because users may name that directory. A file
below `--lib-path` is a candidate; it counts as found only if a CMake or pkg-config package names its directory.

In a prefix that is not part of a whole system, other packages may bring headers. There, a name is checked only if it
is in quotes and its directory exists beside the including file. If the prefix has CMake or pkg-config packages, and
all their requirements are found, the other names are checked too. Headers of compilers and of shared directories such
as `sys`, `linux` and `CL` are not checked. A header below `external` may include files of a directory that does not
exist. Such a header is an adapter for another project, and these files are not reported.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for missing in &query.package_text().headers {
        let name = &missing.include.name;
        let message = format!("{}: no such header (line {})", show(name), missing.include.line);
        let mut finding = query.about_text(RULE.id, &missing.file, message);
        finding.detail = Some(name.clone());
        let elsewhere = missing.elsewhere.as_deref();
        finding
            .evidence
            .extend(elsewhere.map(|path| Evidence::at(EvidenceKind::Candidate, path.into())));
        out.push(finding);
    }
    out
}
