//! `bad-library-file`: a file at which the loader stops with an error.

use super::{Query, Rule, missing_library};
use crate::catalogue::LIBRARY;
use crate::finding::{CauseHint, Evidence, EvidenceKind, Finding, Findings, When};
use crate::resolve::loader::{InterpreterDefect, NoLoader};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

pub(super) static RULE: Rule = Rule::new(
    "bad-library-file",
    LIBRARY,
    "the loader stops at a file that it cannot load",
    DOCS,
    check,
)
.keys(&["library", "detail"])
.of_all_loaded();

const DOCS: &str = "\
## What it does

Reports the file at which the loader stops with an error:

- a linker script, an executable, or an empty or short file
- a file with debug information only
- a file of another byte order
- a file that has DT_RELR but does not need the version `GLIBC_ABI_DT_RELR`

The message is the loader's. The rule also reports a file at which the loader aborts with an assertion: a version need
of the file (`.gnu.version_r`) names a file that is not loaded.

## Why it matters

The loader does not skip such a file. It tries no later directory, even if one holds a good copy, and the
program does not start. linkaudit cannot check the rest of that program.

## Example

```text
error[bad-library-file] lib/libfoo.so: invalid ELF header
  tried      /opt/app/bin/../lib/libfoo.so
```

## How to fix

Remove the file from the directory that the loader searches, or remove the directory from the search path.
Keep linker scripts in directories that only the linker searches.

## Limits

The messages are those of glibc without translations. Errors of the kernel while it maps segments are not
predicted.
";

fn check(query: &Query<'_>) -> Findings {
    let stopped = query.stopped().iter().map(|stop| {
        let mut finding = query.about(RULE.id, stop.file, stop.text.to_owned());
        // If the loader could not open the path (for example, because it is a directory), `detail`
        // starts with the path.
        let path = Path::new(OsStr::from_bytes(&stop.object));
        let place = (!stop.opened).then(|| query.prefixes().locate(path).path);
        finding.detail = Some(match place {
            Some(place) => [place.as_os_str().as_bytes(), b": ", stop.text.as_bytes()].concat(),
            None => stop.text.as_bytes().to_vec(),
        });
        finding.cause = Some(CauseHint::DamagedFile);
        finding.root = query.first_root(&stop.roots);
        finding.when = Some(When::Load);
        finding.evidence.extend(query.roots(&stop.roots, Some(stop.site)));
        finding.evidence.push(Evidence::at(EvidenceKind::Tried, path.into()));
        finding.witness = query.quoted(stop.file).map(|file| format!("file {file}"));
        finding
    });
    let interpreters = missing_library::interpreters_with(query, RULE.id, |fault| match fault {
        InterpreterDefect::NoLoader(text) => Some(format!("not a loader: {text}")),
        InterpreterDefect::Absent | InterpreterDefect::WrongArchitecture => None,
    });
    stopped.chain(refused(query)).chain(interpreters).collect()
}

/// Findings about entry points that the loader refuses to start.
fn refused<'a>(query: &'a Query<'_>) -> impl Iterator<Item = Box<Finding>> + 'a {
    query.without_loader().iter().filter_map(|(file, why)| {
        let NoLoader::Refused(text) = why else { return None };
        let mut finding = query.about(RULE.id, *file, (*text).to_owned());
        finding.when = Some(When::Load);
        finding.root = Some(query.shared_path(*file));
        Some(finding)
    })
}
