//! The command `explain`: the page of a rule, or a table of all rules or the rules of a group.

use super::exit::Exit;
use super::table::table;
use super::{message, out, page};
use crate::catalogue::{GROUPS, renamed};
use crate::rules::{self, RULES, Rule};
use crate::text::did_you_mean;
use anyhow::{Result, bail};

/// Writes the page of the rule `id`, or the table of the rules in the group `id`. `id` may also be
/// an old id of a rule. `width` is the width of the terminal in columns; `None` without a terminal.
pub(super) fn one(id: &str, width: Option<usize>) -> Result<Exit> {
    if GROUPS.iter().any(|group| group.name == id) {
        return list(width, |rule| rule.group.name == id);
    }
    let new = renamed(id);
    if let Some(new) = new {
        message::warning(&format!("rule `{id}` was renamed to `{new}`"));
    }
    let Some(rule) = rules::find(new.unwrap_or(id)) else {
        let ids = RULES.iter().map(|rule| rule.id.as_str());
        let ids = ids.chain(GROUPS.iter().map(|group| group.name));
        bail!(
            "unknown rule or group `{id}`\nhelp: {}",
            did_you_mean(id, ids, "list the rules: linkaudit explain")
        );
    };
    let text = format!(
        "# {}\n\n{}\n\nGroup: {}, default: {}\n\n{}",
        rule.id,
        sentence(rule.summary),
        rule.group.name,
        rule.default_name(),
        rule.docs
    );
    out::stdout(|w| w.write_all(page::wrapped(&text, width).as_bytes()))?;
    Ok(Exit::Clean)
}

fn sentence(summary: &str) -> String {
    let mut chars = summary.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

/// Writes the table of all rules. `width` is the width of the terminal in columns; `None` without a
/// terminal.
pub(super) fn all(width: Option<usize>) -> Result<Exit> {
    list(width, |_| true)
}

/// Writes a table of the rules for which `shown` is true.
fn list(width: Option<usize>, shown: impl Fn(&Rule) -> bool) -> Result<Exit> {
    let mut table = table(width);
    table.set_header(["rule", "group", "default", "what it reports"]);
    for rule in RULES.iter().filter(|rule| shown(rule)) {
        let default = rule.default_name();
        table.add_row([rule.id.as_str(), rule.group.name, default, rule.summary]);
    }
    out::stdout(|w| writeln!(w, "{}", table.trim_fmt()))?;
    Ok(Exit::Clean)
}
