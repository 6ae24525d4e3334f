//! `pkgconfig-missing-requirement`: a package file requires a package that is not found.

use super::{Query, Rule};
use crate::audit::Unmet;
use crate::catalogue::PACKAGE_TEXT;
use crate::finding::{Evidence, EvidenceKind, Findings};
use crate::text::show;
use crate::wants::Wants;

pub(super) static RULE: Rule = Rule::new(
    "pkgconfig-missing-requirement",
    PACKAGE_TEXT,
    "a pkg-config file requires a package that is not found",
    DOCS,
    check,
)
.keys(&["library", "version"])
.wants(Wants::PKG_CONFIG);

const DOCS: &str = "\
## What it does

Looks up the packages in `Requires` and `Requires.private` of a `*.pc` file, with their versions. It searches beside the
file, in the prefix of the file, in the audited directories, in those of `--lib-path`, and in the default directories of
the system. For a store item of Nix, the items that it propagates take the place of the default directories.

## Why it matters

pkg-config refuses a package with an unmet requirement. `Requires.private` counts too: pkgconf needs these
packages for `--cflags` and `--exists`, even without `--static`.

## Example

```text
error[pkgconfig-missing-requirement] lib/pkgconfig/foo.pc: bar >= 2 (line 7): not found
```

## How to fix

Let the development package depend on the one that has `bar.pc`, or remove the requirement if no header of the
package uses it. In nixpkgs, add it to `propagatedBuildInputs`. If the package is elsewhere on purpose, name its
directory with `--lib-path`.

## Limits

Package files outside of directories named `pkgconfig` are not checked, and neither is `Conflicts`. PKG_CONFIG_PATH
of a build is not known. If a store item does not propagate a requirement, the finding is a warning: the user of the
item may bring the package.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for file in &query.package_text().pkg_config {
        for unmet in &file.unmet {
            let mut finding = query.about_text(RULE.id, &file.path, message(unmet));
            finding.library = Some(unmet.requirement.name.clone());
            finding.version =
                unmet.requirement.version.as_ref().map(|(_, version)| version.clone());
            finding.mild = unmet.may_come;
            finding.evidence.extend(unmet.found.as_ref().map(|(path, version)| Evidence {
                version: Some(version.clone()),
                ..Evidence::at(EvidenceKind::Candidate, path.as_path().into())
            }));
            out.push(finding);
        }
    }
    out.dedup_by(|b, a| a.key() == b.key());
    out
}

fn message(Unmet { requirement, found, .. }: &Unmet) -> String {
    let mut wanted = show(&requirement.name);
    if let Some((comparison, version)) = &requirement.version {
        wanted = format!("{wanted} {} {}", show(comparison.text()), show(version));
    }
    let list = if requirement.private { "Requires.private" } else { "Requires" };
    let what = match found {
        Some((_, version)) => format!("found version {}", show(version)),
        None => "not found".to_owned(),
    };
    format!("{wanted}: {what} ({list}, line {})", requirement.line)
}
