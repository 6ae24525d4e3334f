//! `required-package`: a prefix lacks a CMake package or component that a policy requires.

use super::demand::{GivenDirectory, because, by_policy, place};
use super::{Query, Rule};
use crate::audit::CMakePackage;
use crate::catalogue::{Level, PACKAGE, RuleId};
use crate::cmake::{PackageOutcome, Truth};
use crate::finding::{Finding, Findings};
use crate::order::Arrange as _;
use crate::policy::{Pattern, Policy, RequiredPackage};
use crate::text::show;
use crate::wants::Wants;

pub(super) static RULE: Rule = Rule::new(
    "required-package",
    PACKAGE,
    "a prefix lacks a CMake package that a policy requires",
    DOCS,
    check,
)
.keys(&["detail"])
.wants(Wants::CMAKE)
.asked_if(|plan| !plan.policy.required_packages.is_empty());

const DOCS: &str = "\
## What it does

Checks `cmake-packages` of `[require]` in each given directory: `find_package(NAME CONFIG)` must find the package and
each listed component there. The configuration files are evaluated as for `cmake-missing-file`; nothing is executed.

## Why it matters

A build that omits a component succeeds and installs less. The users of the package notice it later.

## Example

```text
error[required-package] lib/cmake/ck/ckConfig.cmake: ck: component device_conv_operations not found (required
by linkaudit.toml:3)
```

## How to fix

Build and install the component. If the package no longer has it, remove the entry from the policy.

## Limits

The answer is `undecided` if the evaluation depends on the project of the user. It is also `undecided` if only files
or a part of a prefix were given, and the package is not among them.
";

/// The required packages; none if the level of the rule is `allow`.
pub(super) fn asked(policy: &Policy) -> &[RequiredPackage] {
    let is_asked = policy.level_of(&RULE.known()) != Level::Allow;
    if is_asked { &policy.required_packages } else { &[] }
}

/// A pattern for the configuration file of a package; `None` if its name is not valid in a pattern.
pub(super) fn pattern(required: &RequiredPackage) -> Option<Pattern> {
    Pattern::path(&format!("**/{}Config.cmake", required.name)).ok()
}

/// Packages with the required name below the directory `given`, or anywhere if `given` is `None`.
fn packages<'a>(
    query: &Query<'a>,
    required: &RequiredPackage,
    given: Option<&GivenDirectory<'_>>,
) -> Vec<&'a CMakePackage> {
    let is_it = |package: &&CMakePackage| {
        package.name.eq_ignore_ascii_case(required.name.as_bytes())
            && given.is_none_or(|given| package.path.starts_with(given.dir))
    };
    query.package_text().cmake.iter().filter(is_it).collect()
}

/// True if a package with the required name exists below the directory `given`, or anywhere if
/// `given` is `None`.
pub(super) fn is_met(
    query: &Query<'_>,
    required: &RequiredPackage,
    given: Option<&GivenDirectory<'_>>,
) -> bool {
    !packages(query, required, given).is_empty()
}

fn is_refused(outcome: &PackageOutcome) -> bool {
    matches!(outcome.found, None | Some(Truth::False))
}

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    let given = query.given();
    for required in &query.policy().required_packages {
        let Some(pattern) = pattern(required) else { continue };
        for given in given.iter().filter(|given| given.holds(&pattern)) {
            let packages = packages(query, required, Some(given));
            if packages.is_empty() {
                let file = given.absent(&pattern);
                let what = format!("{}: no such CMake package", show(required.name.as_bytes()));
                out.push(finding(required, Finding::new(RULE.id, file, what), None));
            }
            for package in packages {
                out.extend(lost(query, required, package));
            }
        }
    }
    out.arrange_by(|a, b| a.key().cmp(&b.key()));
    out.dedup_by(|b, a| a.key() == b.key());
    out
}

/// Findings about a package or its required components that find_package does not find.
fn lost(query: &Query<'_>, required: &RequiredPackage, package: &CMakePackage) -> Findings {
    let name = show(required.name.as_bytes());
    let about = |what: String, component: Option<&str>| {
        finding(required, query.about_text(RULE.id, &package.path, what), component)
    };
    let is_lost = |component: &&String| {
        let known = package.components.iter().find(|(name, _)| *name == component.as_bytes());
        known.is_some_and(|(_, outcome)| is_refused(outcome))
    };
    let lost: Vec<&String> = required.components.iter().filter(is_lost).collect();
    // Some packages, such as Qt5, are found only with a component.
    if is_refused(&package.outcome) && lost.len() == required.components.len() {
        return vec![about(format!("{name}: not found by find_package"), None)];
    }
    let named = lost.into_iter().map(|component| {
        let what = format!("{name}: component {} not found", show(component.as_bytes()));
        about(what, Some(component))
    });
    named.collect()
}

/// Findings of `rule` about required packages and components for which the evaluation of CMake
/// files cannot decide if find_package finds them.
pub(super) fn unanswered(query: &Query<'_>, rule: RuleId) -> Findings {
    let mut out = Findings::new();
    for required in asked(query.policy()) {
        for package in packages(query, required, None) {
            let is_open = |outcome: &PackageOutcome| outcome.found == Some(Truth::Unknown);
            let of_components = package.components.iter().filter(|(name, outcome)| {
                let is_asked = required.components.iter().any(|asked| asked.as_bytes() == *name);
                is_asked && is_open(outcome) && !is_open(&package.outcome)
            });
            let whole = is_open(&package.outcome).then_some(None);
            for component in whole.into_iter().chain(of_components.map(|(name, _)| Some(name))) {
                out.push(undecided(query, rule, required, (package, component)));
            }
        }
    }
    out
}

fn undecided(
    query: &Query<'_>,
    rule: RuleId,
    required: &RequiredPackage,
    (package, component): (&CMakePackage, Option<&Vec<u8>>),
) -> Box<Finding> {
    let mut what = show(required.name.as_bytes());
    if let Some(component) = component {
        what = format!("{what} with component {}", show(component));
    }
    let place = place(&required.origin);
    let message = format!(
        "{place} requires the package {what}: the answer of find_package depends on the project"
    );
    let mut finding = query.about_text(rule, &package.path, message);
    finding.detail = Some(what.into_bytes());
    let key = format!("require.cmake-packages {}", required.name);
    by_policy(&mut finding, key, &required.origin);
    finding
}

/// Completes a finding about a required package: sets the detail, and adds the policy entry to the
/// message and the evidence.
fn finding(
    required: &RequiredPackage,
    mut finding: Box<Finding>,
    component: Option<&str>,
) -> Box<Finding> {
    let reason = because(required.reason.as_deref());
    let place = place(&required.origin);
    finding.message = format!("{} (required by {place}{reason})", finding.message);
    let detail = [Some(required.name.as_str()), component];
    finding.detail = Some(detail.into_iter().flatten().collect::<Vec<_>>().join("/").into_bytes());
    let key = format!("require.cmake-packages {}", required.name);
    by_policy(&mut finding, key, &required.origin);
    finding
}
