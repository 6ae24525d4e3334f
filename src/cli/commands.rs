//! Refuses options without effect on the requested command, then calls the function of that
//! command.

use super::exit::Exit;
use super::{
    Cli, Command, PolicyCommand, SharedOptions, archive, check, completions, demo, diff, explain,
    first_policy, fix, gpu, hook, manual, plan, policy, views,
};
use anyhow::{Result, bail};
use std::io::IsTerminal as _;

/// Runs the command of the command line, and returns the exit status. An error is a message for the
/// user, with exit status 2.
pub fn run(cli: Cli) -> Result<Exit> {
    if let Some(command) = cli.command.as_ref().and_then(without_facts) {
        refuse(command, &cli.shared)?;
    }
    match cli.command {
        None => check::check(&cli.shared, &cli.paths),
        Some(Command::Check { paths }) => check::check(&cli.shared, &paths),
        Some(Command::Tree { paths }) => views::tree(&cli.shared, &paths),
        Some(Command::Why(options)) => views::why(&cli.shared, &options),
        Some(Command::Gpu(options)) => gpu::gpu(&cli.shared, &options),
        Some(Command::Archive(options)) => archive::archive(&cli.shared, &options),
        Some(Command::Demo { dir }) => {
            only_human(&cli.shared, "demo")?;
            demo::demo(&cli.shared, dir.as_deref())
        }
        Some(Command::Fix(options)) => fix::fix(&cli.shared, &options),
        Some(Command::Diff(options)) => diff::diff(&cli.shared, &options),
        Some(Command::Policy { command }) => {
            only_human(&cli.shared, "policy")?;
            if let PolicyCommand::Init { file, from: Some(from) } = &command {
                return first_policy::write(&cli.shared, from, file);
            }
            let color = plan::colored(&cli.shared, std::io::stderr().is_terminal());
            policy::run(&cli.shared, &command, color)
        }
        Some(Command::Hook(options)) => {
            only_human(&cli.shared, "hook")?;
            hook::hook(&options, plan::style(&cli.shared).width)
        }
        Some(Command::Man { install }) => manual::man(install.as_deref()),
        Some(Command::Completions { shell }) => completions::completions(shell),
        Some(Command::Explain { rule }) => {
            only_human(&cli.shared, "explain")?;
            let width = plan::style(&cli.shared).width;
            match rule {
                Some(rule) => explain::one(&rule, width),
                None => explain::all(width),
            }
        }
    }
}

/// The name of a command that audits files and has no output for `--facts`; `None` for other
/// commands.
fn without_facts(command: &Command) -> Option<&'static str> {
    match command {
        Command::Tree { .. } => Some("tree"),
        Command::Why(_) => Some("why"),
        Command::Archive(_) => Some("archive"),
        Command::Gpu(_) => Some("gpu"),
        Command::Fix(_) => Some("fix"),
        Command::Diff(_) => Some("diff"),
        _ => None,
    }
}

/// Refuses options that have no effect on `command`, which audits files. `sections` hides these
/// options in the help of the command.
fn refuse(command: &str, shared: &SharedOptions) -> Result<()> {
    if shared.facts {
        bail!(
            "`{command}` writes no exports and bindings\nhelp: use linkaudit check --facts --format json"
        );
    }
    if shared.relative_to.is_some() && !matches!(command, "fix" | "diff") {
        bail!(
            "`{command}` has no output with relative paths\nhelp: use --relative-to with linkaudit check, fix or diff"
        );
    }
    if !shared.lib_path.is_empty() && matches!(command, "tree" | "gpu") {
        bail!(
            "`{command}` searches for no candidates\nhelp: use linkaudit check --lib-path DIR, or linkaudit why"
        );
    }
    Ok(())
}

/// Refuses outputs other than `human`, for a command that has no other output.
fn only_human(shared: &SharedOptions, command: &str) -> Result<()> {
    let outputs = shared.output.iter().filter_map(|pair| pair.split('=').next());
    if let Some(name) = outputs.chain([&*shared.format]).find(|name| *name != "human") {
        bail!("unknown output `{name}` of `{command}`\nhelp: the only output is human");
    }
    Ok(())
}
