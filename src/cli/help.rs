//! Help, and messages about the command line, which clap writes: their colours, and the suggestions
//! that clap itself does not make.

use super::{Cli, Switch, sections};
use crate::text::nearest;
use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, ColorChoice, Command, CommandFactory as _, Error, ValueEnum as _};
use std::ffi::OsString;

/// Parses a command line that requests help or has an error. Both are returned as the error.
pub(super) fn answer(words: &[OsString]) -> Result<ArgMatches, Error> {
    let mut program = sections::apply(Cli::command().color(color(words)));
    let answer = program.try_get_matches_from_mut(words);
    answer.map_err(|error| with_suggestion(error, &program, words))
}

/// The last `--color` of a command line, whose other words may be invalid.
fn color(words: &[OsString]) -> ColorChoice {
    let options = words.iter().take_while(|word| *word != "--");
    let mut options = options.map(|word| word.to_str().unwrap_or_default());
    let mut last = ColorChoice::Auto;
    while let Some(word) = options.next() {
        let value = match word.strip_prefix("--color") {
            Some("") => options.next(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        match value.map(|value| Switch::from_str(value, false)) {
            Some(Ok(Switch::Always)) => last = ColorChoice::Always,
            Some(Ok(Switch::Never)) => last = ColorChoice::Never,
            Some(Ok(Switch::Auto)) => last = ColorChoice::Auto,
            Some(Err(_)) | None => {}
        }
    }
    last
}

/// Adds the command with the nearest name to an error about `help COMMAND`.
fn with_suggestion(mut error: Error, program: &Command, words: &[OsString]) -> Error {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return error;
    }
    let of_help = words.iter().skip_while(|word| *word != "help").skip(1);
    let command =
        of_help.fold(program, |command, word| command.find_subcommand(word).unwrap_or(command));
    let names = command.get_subcommands().map(Command::get_name);
    if let Some(name) = nearest(typed, names).map(str::to_owned) {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![name]));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::color;
    use clap::ColorChoice::{Always, Auto, Never};
    use std::ffi::OsString;

    #[test]
    fn the_last_color_applies() {
        let of = |words: &str| color(&words.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(of("linkaudit --help"), Auto);
        assert_eq!(of("linkaudit --color always --help"), Always);
        assert_eq!(of("linkaudit --help --color=never"), Never);
        assert_eq!(of("linkaudit --color=always tree --color never"), Never);
        assert_eq!(of("linkaudit --color nosuch --color"), Auto);
        assert_eq!(of("linkaudit -- --color=always"), Auto);
    }
}
