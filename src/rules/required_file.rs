//! `required-file`: a prefix lacks a file that a policy requires.

use super::demand::{GivenDirectory, by_policy, place};
use super::{Query, Rule};
use crate::catalogue::PACKAGE;
use crate::finding::{Finding, Findings};
use crate::order::Arrange as _;
use crate::policy::RequiredFile;

pub(super) static RULE: Rule = Rule::new(
    "required-file",
    PACKAGE,
    "a prefix lacks a file that a policy requires",
    DOCS,
    check,
)
.keys(&[])
.asked_if(|plan| !plan.policy.required_files.is_empty());

const DOCS: &str = "\
## What it does

Checks `files` of `[require]` in each given directory: at least one regular file, or link to one, must match
the pattern. The path of the finding is the pattern. The keys `headers` (files below a directory `include`),
`pkgconfig` (package files in a directory `pkgconfig`) and `programs` (files in a directory `bin`) are checked in
the same way.

## Why it matters

A build that omits a component succeeds and installs less. The users of the package notice it later.

## Example

```text
error[required-file] lib/cmake/ck/*Targets.cmake: no such file (required by linkaudit.toml:3)
```

## How to fix

Enable the component, or install the file. If the package no longer has the file, remove the entry from the
policy.

## Limits

Dangling links, directories and special files do not count. If no file matches and a subdirectory could not be read,
the finding is still reported. If only files or a part of a prefix were given, the answer is `undecided`.
";

fn check(query: &Query<'_>) -> Findings {
    let given = query.given();
    let mut out = Findings::new();
    for required in &query.policy().required_files {
        let pattern = &required.path;
        for given in given.iter().filter(|given| given.holds(pattern)) {
            if !is_there(query, required, Some(given)) {
                let message = format!("no such file (required by {})", place(&required.origin));
                let mut finding = Finding::new(RULE.id, given.absent(pattern), message);
                let key = format!("require.{} {}", required.list.key(), required.text);
                by_policy(&mut finding, key, &required.origin);
                out.push(finding);
            }
        }
    }
    out.arrange_by(|a, b| a.key().cmp(&b.key()));
    // Two policies may require the same file.
    out.dedup_by(|b, a| a.key() == b.key());
    out
}

/// True if the required file exists below the directory `given`, or anywhere if `given` is `None`.
pub(super) fn is_there(
    query: &Query<'_>,
    required: &RequiredFile,
    given: Option<&GivenDirectory<'_>>,
) -> bool {
    let mut names = query.named_files().iter().flat_map(|path| query.aliases(path));
    names.any(|name| {
        given.is_none_or(|given| name.starts_with(given.dir))
            && query.lies_at(&name, &required.path)
    })
}
