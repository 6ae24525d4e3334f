//! `forbidden-library`: an object needs a library that a policy forbids.

use super::demand::{because, by_policy, place};
use super::{Query, Rule};
use crate::catalogue::POLICY;
use crate::diagnosis::Site;
use crate::facts::FileFacts;
use crate::finding::{Finding, Findings, When};
use crate::id::{FileId, ModuleId, RootId};
use crate::order::Arrange as _;
use crate::policy::ForbiddenLibrary;
use crate::text::show;

pub(super) static RULE: Rule = Rule::new(
    "forbidden-library",
    POLICY,
    "a program or library needs a library that a policy forbids",
    DOCS,
    check,
)
.keys(&["library"])
.of_all_loaded()
.asked_if(|plan| !plan.policy.forbidden_libraries.is_empty());

const DOCS: &str = "\
## What it does

Compares every DT_NEEDED, DT_FILTER and DT_AUXILIARY of every audited object, and of every library that it
loads, with `libraries` of `[forbid]`. It compares the needed name; if that name is a path, also its last part.

## Why it matters

A compiler wrapper may add a library to every link. A second OpenMP runtime, or a library under another licence,
is easily linked by accident and rarely noticed.

## Example

```text
error[forbidden-library] lib/libapp.so: needs libunwind.so.1, which linkaudit.toml:4 forbids: leaked
```

## How to fix

Remove the library from the link; `-Wl,--as-needed` omits unused libraries. If a library of another project
needs it, waive the finding with `path`, or use another build of that library.

## Limits

Libraries that a program loads with dlopen are not checked. The rule compares the needed name, not the soname
of the file.
";

fn check(query: &Query<'_>) -> Findings {
    let forbidden = &query.policy().forbidden_libraries;
    let loaders = query.loaders();
    let files = query.files();
    let is_ours = |facts: &FileFacts| facts.audited && facts.foreign().is_none();
    let judged = files.filter(|(file, facts)| is_ours(facts) || loaders.contains_key(file));
    judged
        .flat_map(|(file, facts)| {
            let loaders = loaders.get(&file).map_or(&[][..], Vec::as_slice);
            of_file(query, (file, facts), forbidden, loaders)
        })
        .collect()
}

fn of_file(
    query: &Query<'_>,
    (file, facts): (FileId, &FileFacts),
    forbidden: &[ForbiddenLibrary],
    loaders: &[(RootId, ModuleId)],
) -> Findings {
    let mut out = Findings::new();
    let Some(object) = facts.object() else { return out };
    let mut names: Vec<&[u8]> = object.needs.iter().map(|need| object.str(need.name)).collect();
    names.arrange();
    names.dedup();
    for name in names {
        let base = crate::text::last_part(name);
        let hits = |entry: &&ForbiddenLibrary| entry.name.matches(name) || entry.name.matches(base);
        let Some(entry) = forbidden.iter().filter(hits).min_by_key(|entry| &entry.origin) else {
            continue;
        };
        out.push(finding(query, file, name, entry, loaders));
    }
    out
}

fn finding(
    query: &Query<'_>,
    file: FileId,
    name: &[u8],
    entry: &ForbiddenLibrary,
    loaders: &[(RootId, ModuleId)],
) -> Box<Finding> {
    let message = format!(
        "needs {}, which {} forbids{}",
        show(name),
        place(&entry.origin),
        because(entry.reason.as_deref())
    );
    let mut finding = query.about(RULE.id, file, message);
    let roots: Vec<RootId> = loaders.iter().map(|(root, _)| *root).collect();
    let site = loaders.first().map(|(root, module)| Site { root: *root, module: *module });
    finding.library = Some(name.to_vec());
    finding.root = query.first_root(&roots);
    finding.when = Some(When::Load);
    finding.evidence.extend(query.roots(&roots, site));
    let key = format!("forbid.libraries {}", entry.name.text());
    by_policy(&mut finding, key, &entry.origin);
    finding.witness =
        query.quoted(file).map(|file| format!("readelf -d {file} | grep -E 'NEEDED|FILTER|AUX'"));
    finding
}
