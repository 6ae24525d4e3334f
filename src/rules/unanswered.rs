//! Requirements of policies that could not be checked. For example, only a part of the prefix was
//! given, or a file has no dynamic symbols. `undecided` reports these requirements.

use super::demand::{arch, by_policy, has_symbols, place, policy_file};
use super::{
    Query, Rule, deps_list_drift, forbidden_symbol, required_file, required_package,
    required_symbol, symbol_version_too_new,
};
use crate::catalogue::{Level, RuleId};
use crate::finding::{Finding, Findings};
use crate::format::elf::machine;
use crate::order::Arrange as _;
use crate::package::Located;
use crate::policy::{Origin, Pattern, SymbolAt};
use crate::text::show;
use std::sync::Arc;

/// Requirements of policies that could not be checked, as findings of `rule`.
pub(super) fn check(query: &Query<'_>, rule: RuleId) -> Findings {
    let policy = &query.policy();
    let is_asked = |rule: &Rule| policy.level_of(&rule.known()) != Level::Allow;
    let mut out = Findings::new();
    let given = query.given();
    let mut absent = |origin: &Origin, pattern: &Pattern, what: &str| {
        let what = format!("{} requires {what}", place(origin));
        if given.is_empty() {
            let words = format!("not checked: {what}, but no directory was given");
            out.push(finding(rule, policy_file(origin), words, pattern.text()));
        }
        for given in given.iter().filter(|given| !given.holds(pattern)) {
            let words = format!("not checked: {what}, but only a part of the prefix was given");
            out.push(finding(rule, given.absent(pattern), words, pattern.text()));
        }
    };
    let files = policy.required_files.iter().filter(|_| is_asked(&required_file::RULE));
    for required in files {
        if !required_file::is_there(query, required, None) {
            absent(
                &required.origin,
                &required.path,
                show(required.path.text().as_bytes()).as_str(),
            );
        }
    }
    for required in required_package::asked(policy) {
        if let Some(pattern) = required_package::pattern(required)
            && !required_package::is_met(query, required, None)
        {
            absent(&required.origin, &pattern, &format!("the package {}", required.name));
        }
    }
    let symbols = policy.required_symbols.iter().filter(|_| is_asked(&required_symbol::RULE));
    for required in symbols {
        if let Some(pattern) = required.path.as_ref().filter(|_| query.meant(required).is_empty()) {
            let symbol = show(required.symbol.text().as_bytes());
            let file = show(pattern.text().as_bytes());
            absent(&required.origin, pattern, &format!("the symbol {symbol} in {file}"));
        }
    }
    if is_asked(&deps_list_drift::RULE) {
        out.extend(deps_list_drift::unanswered(query, rule));
    }
    let required = policy.required_symbols.iter().filter(|_| is_asked(&required_symbol::RULE));
    let forbidden = policy.forbidden_symbols.iter().filter(|_| is_asked(&forbidden_symbol::RULE));
    out.extend(archives(query, rule, required.chain(forbidden)));
    out.extend(required_package::unanswered(query, rule));
    out.extend(silent_platforms(query, rule));
    if is_asked(&symbol_version_too_new::RULE) {
        out.extend(symbol_version_too_new::unanswered(query, rule));
    }
    out
}

/// Findings about files of an architecture for which a platform of the policy has no entry.
fn silent_platforms(query: &Query<'_>, rule: RuleId) -> Findings {
    let mut out = Findings::new();
    for (file, object) in query.audited_objects().filter(|(_, object)| object.is_dynamic()) {
        let machine = machine::name(object.header.target());
        for platform in query.policy().silent_platforms(arch(object)) {
            let name = show(platform.asked_name().as_bytes());
            let message = format!("{name} has no entry for {machine}: not checked against it");
            let mut finding = query.about(rule, file, message);
            finding.detail = Some(name.clone().into_bytes());
            by_policy(&mut finding, format!("platform {name} {machine}"), &platform.origin);
            out.push(finding);
        }
    }
    out
}

fn finding(rule: RuleId, file: Arc<Located>, words: String, detail: &str) -> Box<Finding> {
    let mut finding = Finding::new(rule, file, words);
    finding.detail = Some(detail.into());
    finding
}

/// Findings about files that a policy entry about a symbol selects, but that have no dynamic
/// symbols, such as archives.
fn archives<'p>(
    query: &Query<'_>,
    rule: RuleId,
    entries: impl Iterator<Item = &'p SymbolAt>,
) -> Findings {
    let mut out = Findings::new();
    for at in entries {
        for (file, _) in query.meant(at) {
            if has_symbols(query.facts(file)) {
                continue;
            }
            let symbol = at.symbol.text();
            let words = format!(
                "{} has an entry for its symbol {}: only programs and shared objects are checked for symbols",
                place(&at.origin),
                show(symbol.as_bytes())
            );
            let mut finding = query.about(rule, file, words);
            finding.symbol = Some(symbol.into());
            out.push(finding);
        }
    }
    out.arrange_by(|a, b| a.key().cmp(&b.key()));
    out.dedup_by(|b, a| a.key() == b.key());
    out
}
