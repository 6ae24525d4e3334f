//! The command `completions`: a completion script for a shell, with the options that the help of
//! each command shows, and the names that these options accept.

use super::exit::Exit;
use super::{diff, out};
use crate::catalogue::GROUPS;
use crate::emit::EMITTERS;
use crate::hooks::SYSTEMS;
use crate::plan::Cpu;
use crate::policy;
use crate::report::{self, NamedFormat};
use crate::rules::RULES;
use crate::views;
use anyhow::{Context as _, Result};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command};
use clap_complete::Shell;

/// Runs `linkaudit completions`: writes the completion script for `shell` to stdout.
pub(super) fn completions(shell: Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut offered(&super::shown(), shell), "linkaudit", &mut script);
    out::stdout(|w| w.write_all(&script)).context("cannot write the script to stdout")?;
    Ok(Exit::Clean)
}

/// A copy of a command with only the options that a script for `shell` offers. clap_complete offers
/// hidden options too, and clap cannot remove an option from a command.
fn offered(command: &Command, shell: Shell) -> Command {
    let name = command.get_name();
    let is_shown = |option: &&Arg| !option.is_hide_set() && !is_added_by_clap(option);
    let options = command.get_arguments().filter(is_shown);
    let inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
    let mut copy = Command::new(name.to_owned())
        .args(options.map(|option| with_names(option.clone().global(false), name, shell)))
        .subcommands(inner.map(|inner| offered(inner, shell)));
    if let Some(about) = command.get_about() {
        copy = copy.about(about.clone());
    }
    match command.get_version() {
        Some(version) => copy.version(version.to_owned()),
        None => copy,
    }
}

fn is_added_by_clap(option: &Arg) -> bool {
    use ArgAction::{Help, HelpLong, HelpShort, Version};
    matches!(option.get_action(), Help | HelpLong | HelpShort | Version)
}

/// An option or operand of `command`, with the names that it accepts. clap does not check these
/// names when it parses a command line: linkaudit reports an unknown name itself, and suggests a
/// similar one. Only bash gets the names of policies. If no policy fits, bash completes file names;
/// other shells would not.
fn with_names(option: Arg, command: &str, shell: Shell) -> Arg {
    let rules = || RULES.iter().map(|rule| rule.id.as_str());
    let names: Vec<&'static str> = match option.get_id().as_str() {
        "format" => formats(command),
        "allow" | "warn" | "deny" => rules().chain(GROUPS.iter().map(|g| g.name)).collect(),
        "cpu" => Cpu::names(),
        "emit" => names(EMITTERS),
        "rule" => rules().chain(GROUPS.iter().map(|group| group.name)).collect(),
        "policy" | "policies" if shell == Shell::Bash => {
            return option.value_parser(PossibleValuesParser::new(policy::built_in_names()));
        }
        "system" => SYSTEMS.iter().map(|system| system.name).collect(),
        _ => return option,
    };
    option.value_parser(PossibleValuesParser::new(names))
}

/// The names that `--format` of a command accepts.
pub(super) fn formats(command: &str) -> Vec<&'static str> {
    match command {
        "tree" => names(views::tree::OUTPUTS),
        "why" => names(views::why::OUTPUTS),
        "archive" => names(views::archive::OUTPUTS),
        "gpu" => names(views::gpu::OUTPUTS),
        "diff" => names(diff::DIFF_OUTPUTS),
        _ => names(report::OUTPUTS),
    }
}

fn names<O: NamedFormat>(outputs: &'static [O]) -> Vec<&'static str> {
    outputs.iter().map(NamedFormat::name).collect()
}
