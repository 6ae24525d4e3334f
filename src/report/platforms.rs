//! The line of a report for people about platforms: the tightest that the files satisfy, and the
//! obstacles to the next.

use super::Style;
use super::model::{Blocker, BlockerKind, PlatformResult, Report};
use std::io::{self, Write};

/// Obstacles named unless everything is wanted.
const MOST: usize = 3;

/// Writes one line for each architecture.
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
        writeln!(out, "{head}; {next} has no {}{more}", named.join(", "))?;
    }
    Ok(())
}

fn words(blocker: &Blocker) -> String {
    let Blocker { kind, name, library, files, path } = blocker;
    let of = match (kind, library) {
        (BlockerKind::Symbol, Some(library)) => format!(" in {library}"),
        _ => String::new(),
    };
    let more = if *files > 1 { format!(" and {} more files", files - 1) } else { String::new() };
    format!("{name}{of} ({path}{more})")
}
