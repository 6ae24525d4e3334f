//! The command `explain`: the page of a rule, or a table of all implemented rules.

use super::exit::Exit;
use super::out;
use crate::rules::{self, RULES};
use crate::text::did_you_mean;
use anyhow::{Result, bail};
use comfy_table::{ContentArrangement, Table, presets};

/// Writes the page of one rule.
pub(super) fn one(id: &str) -> Result<Exit> {
    let Some(rule) = rules::find(id) else {
        if let Some(known) = rules::catalogue().known(id) {
            let id = known.id;
            bail!("rule `{id}`: not implemented yet\nhelp: list the rules: linkaudit explain");
        }
        let ids = RULES.iter().map(|rule| rule.id.as_str());
        bail!(
            "unknown rule `{id}`\nhelp: {}",
            did_you_mean(id, ids, "list the rules: linkaudit explain")
        );
    };
    out::stdout(|w| {
        writeln!(
            w,
            "# {}\n\n{}\n\nGroup: {}, default: {}\n",
            rule.id,
            sentence(rule.summary),
            rule.group.name,
            rule.default_name()
        )?;
        w.write_all(rule.docs.as_bytes())
    })?;
    Ok(Exit::Clean)
}

fn sentence(summary: &str) -> String {
    let mut chars = summary.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

/// Writes all implemented rules, one per line.
pub(super) fn all() -> Result<Exit> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["rule", "group", "default", "what it reports"]);
    for rule in RULES {
        let default = rule.default_name();
        table.add_row([rule.id.as_str(), rule.group.name, default, rule.summary]);
    }
    out::stdout(|w| writeln!(w, "{}", table.trim_fmt()))?;
    Ok(Exit::Clean)
}
