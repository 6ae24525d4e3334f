//! The sections of options in the help, and the options that each command hides.

use super::completions;
use clap::{Arg, Command};

/// Heading of the options that name the files to audit.
pub(super) const INPUT: &str = "Files to audit";
/// Heading of the options about the loader and the environment of programs.
pub(super) const LOADER: &str = "Loader";
/// Heading of the options that decide which findings are reported.
pub(super) const FINDINGS: &str = "Findings";
/// Heading of the options about baselines.
pub(super) const BASELINE: &str = "Baseline";
/// Heading of the options about reports and messages.
pub(super) const OUTPUT: &str = "Output";
/// Heading of the options about the process: threads, sandbox and timings.
pub(super) const RUN: &str = "Run";

/// The clap ids of options in [`HIDDEN`].
const FACTS: &str = "facts";
const RELATIVE_TO: &str = "relative_to";
const LIB_PATH: &str = "lib_path";

/// For each command, the sections and ids of options that have no effect on it. The help of the
/// command hides these options. Commands that audit refuse them. Other commands accept most of
/// these options, so that options may precede the command.
const HIDDEN: &[(&str, &[&str])] = &[
    ("tree", &[BASELINE, FACTS, RELATIVE_TO, LIB_PATH]),
    ("why", &[BASELINE, FACTS, RELATIVE_TO]),
    ("archive", &[BASELINE, FACTS, RELATIVE_TO]),
    ("gpu", &[BASELINE, FACTS, RELATIVE_TO, LIB_PATH]),
    ("fix", &[BASELINE, FACTS]),
    ("diff", &[BASELINE, FACTS, "staged", "replaces", "files_from", "null", "nix_closure"]),
    ("policy", &[INPUT, LOADER, FINDINGS, BASELINE, OUTPUT, RUN]),
    ("demo", &[INPUT, LOADER, FINDINGS, BASELINE, OUTPUT, RUN]),
    ("explain", &[INPUT, LOADER, FINDINGS, BASELINE, OUTPUT, RUN]),
    ("hook", &[INPUT, LOADER, FINDINGS, BASELINE, OUTPUT, RUN]),
    ("man", &[INPUT, LOADER, FINDINGS, BASELINE, OUTPUT, RUN]),
    ("completions", &[INPUT, LOADER, FINDINGS, BASELINE, OUTPUT, RUN]),
];

/// Prepares the definition of the command line for help: each command shows only options that have
/// an effect.
pub(super) fn apply(mut program: Command) -> Command {
    // `build` adds the options of all commands to each command.
    program.build();
    program = program.mut_subcommand("diff", |command| command.mut_args(of_diff));
    for name in ["tree", "why", "archive", "gpu", "fix"] {
        program = program.mut_subcommand(name, |command| command.mut_args(of_reader));
    }
    for name in ["check", "tree", "why", "archive", "gpu", "fix", "diff"] {
        program = program
            .mut_subcommand(name, |command| command.mut_args(|option| of_format(option, name)));
    }
    for (name, hidden) in HIDDEN {
        program = program.mut_subcommand(*name, |command| hide(command, hidden));
    }
    program
}

/// Replaces the help of two options for `diff`: `--fail-on-gone` needs no baseline there, and
/// `--baseline` waives only findings of audited directories.
fn of_diff(option: Arg) -> Arg {
    let help = match option.get_id().as_str() {
        "baseline" => {
            "Waive the findings that FILE lists, if OLD or NEW is a directory; a JSON report keeps its own waivers"
        }
        "fail_on_gone" => {
            "Exit with 1 if a file, an exported symbol, one of its versions or a GPU target is gone, even if \
             no audited file uses it"
        }
        _ => return option,
    };
    option.help(help).help_heading(FINDINGS)
}

/// Makes the help of `--format` list only the outputs of `command`.
fn of_format(option: Arg, command: &str) -> Arg {
    if option.get_id() != "format" {
        return option;
    }
    option.help(format!("Output on stdout: {}", completions::formats(command).join(", ")))
}

/// Moves `--baseline` to the options about findings, for commands that read a baseline but do not
/// write one. A waived finding does not change the exit status of these commands.
fn of_reader(option: Arg) -> Arg {
    if option.get_id() == "baseline" { option.help_heading(FINDINGS) } else { option }
}

fn hide(command: Command, hidden: &[&str]) -> Command {
    let own = command.mut_args(|option| {
        let heading = option.get_help_heading().unwrap_or_default();
        let is_hidden = hidden.contains(&heading) || hidden.contains(&option.get_id().as_str());
        // `--color` also applies to messages.
        if is_hidden && option.get_id() != "color" { option.hide(true) } else { option }
    });
    own.mut_subcommands(|inner| hide(inner, hidden))
}
