//! The lines about platforms in a report for people: the oldest platform that the files satisfy,
//! and the obstacles to the next older one.

use super::Style;
use super::layout::wrap;
use super::model::{Blocker, BlockerKind, PlatformResult, Report};
use std::io::{self, Write};

/// Maximum number of obstacles that are named without `-v`.
const MOST: usize = 3;

/// Writes the result for each architecture.
pub(super) fn write(report: &Report, style: Style, out: &mut dyn Write) -> io::Result<()> {
    for result in &report.platform {
        let PlatformResult { arch, satisfies, next, blocked_by } = result;
        let head = match satisfies {
            Some(name) => format!("platform: {name}_{arch}"),
            None => format!("platform: none for {arch}"),
        };
        let Some(next) = next else {
            writeln!(out, "{head}, the oldest")?;
            continue;
        };
        let most = if style.verbose { usize::MAX } else { MOST };
        let named: Vec<String> = blocked_by.iter().take(most).map(words).collect();
        let more = blocked_by.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!("{head}; {next} has no {}{more}", named.join(", "));
        for (at, line) in wrap(&text, style.columns(), 0, 4).iter().enumerate() {
            writeln!(out, "{}{line}", if at == 0 { "" } else { "    " })?;
        }
    }
    Ok(())
}

fn words(blocker: &Blocker) -> String {
    let Blocker { kind, name, library, files, path } = blocker;
    let of = match (kind, library) {
        (BlockerKind::Symbol, Some(library)) => format!(" in {library}"),
        (_, Some(library)) => format!(" of {library}"),
        (_, None) => String::new(),
    };
    let more = match files {
        0 | 1 => String::new(),
        2 => " and 1 more file".to_owned(),
        n => format!(" and {} more files", n - 1),
    };
    format!("{name}{of} ({path}{more})")
}
