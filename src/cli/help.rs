//! Help texts, and errors of the command line. clap detects the errors and generates the help. This
//! module adds suggestions. It prints help and errors in the style of all other messages.
//! `plan::colored_by` decides if they are coloured.

use super::{Cli, Switch, message, out, plan, sections};
use crate::text::nearest;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Command, CommandFactory as _, Error, ValueEnum as _};
use std::ffi::OsString;
use std::io::IsTerminal as _;

/// The reply to a command line that requests help or the version, or that has an error.
#[derive(Debug)]
pub struct Answer {
    text: String,
    /// Decides the stream and the style of the text.
    pub kind: AnswerKind,
}

/// The reason for an [`Answer`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerKind {
    /// Help or the version, for stdout.
    Requested,
    /// The help of a command that was typed without its subcommand, for stderr.
    Reminder,
    /// An error in the command line, for stderr.
    Error,
}

impl Answer {
    /// Writes the text. A failed write is ignored: the exit status still reports the result.
    pub fn print(&self) {
        match self.kind {
            AnswerKind::Requested => {
                let _ = out::stdout(|w| w.write_all(self.text.as_bytes()));
            }
            AnswerKind::Reminder => message::raw(&self.text),
            AnswerKind::Error => message::error(&self.text),
        }
    }

    /// The answer for an error of clap. clap returns requests for help and for the version as
    /// errors too.
    fn new(error: &Error, program: &Command, words: &[OsString]) -> Self {
        let color = color(words);
        message::set_color(plan::colored_by(color, std::io::stderr().is_terminal()));
        let help = error.render();
        let shown = |is_colored: bool| {
            if is_colored { help.ansi().to_string() } else { help.to_string() }
        };
        if !error.use_stderr() {
            let text = shown(plan::colored_by(color, std::io::stdout().is_terminal()));
            return Self { text, kind: AnswerKind::Requested };
        }
        if let Some(text) = help.to_string().strip_prefix("error: ") {
            let text = in_style(text, error, program, words);
            return Self { text, kind: AnswerKind::Error };
        }
        let text = shown(plan::colored_by(color, std::io::stderr().is_terminal()));
        Self { text, kind: AnswerKind::Reminder }
    }
}

/// Parses the command line a second time, to get its help or error message. Only this second parse
/// sorts the options into sections and hides options without effect. These steps take time, and a
/// valid command line does not need them. Returns the help or the error message as `Err`.
pub(super) fn answer(words: &[OsString]) -> Result<ArgMatches, Answer> {
    let mut program = sections::apply(Cli::command());
    // clap accepts only a command name after `help`, so `help --help` is parsed as `help help`.
    let [first, help, option] = words else { return parsed(&mut program, words) };
    if help == "help" && ["-h", "--help"].iter().any(|known| option == known) {
        return parsed(&mut program, &[first.clone(), help.clone(), "help".into()]);
    }
    parsed(&mut program, words)
}

fn parsed(program: &mut Command, words: &[OsString]) -> Result<ArgMatches, Answer> {
    let answer = program.try_get_matches_from_mut(words);
    answer.map_err(|error| Answer::new(&error, program, words))
}

/// The answer for an error that clap finds when it converts the parsed words to options.
pub(super) fn of_values(error: &Error, words: &[OsString]) -> Answer {
    Answer::new(error, &sections::apply(Cli::command()), words)
}

/// The value of the last valid `--color` in `words`; `Auto` if there is none. Other words may be
/// invalid.
fn color(words: &[OsString]) -> Switch {
    let options = words.iter().take_while(|word| *word != "--");
    let mut options = options.map(|word| word.to_str().unwrap_or_default());
    let mut last = Switch::Auto;
    while let Some(word) = options.next() {
        let value = match word.strip_prefix("--color") {
            Some("") => options.next(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        if let Some(Ok(switch)) = value.map(|value| Switch::from_str(value, false)) {
            last = switch;
        }
    }
    last
}

/// An error of clap in the style of all messages: the error, the help, then the usage if arguments
/// are missing.
fn in_style(text: &str, error: &Error, program: &Command, words: &[OsString]) -> String {
    let mut paragraphs = text.trim_end().split("\n\n");
    let first = paragraphs.next().unwrap_or_default();
    let command = Typed::find(program, words);
    let of_option = || option(error).and_then(|typed| command.help(typed, program));
    let of_name = || near(error, program, words).map(|name| format!("did you mean `{name}`?"));
    let help = of_option().or_else(of_name);
    let listed = match error.kind() {
        ErrorKind::InvalidSubcommand => "commands",
        _ => "options",
    };
    let help = help.unwrap_or_else(|| format!("list the {listed}: {} --help", command.name()));
    let mut usage = paragraphs.filter(|part| part.starts_with("Usage: "));
    let usage = usage.next().filter(|_| error.kind() == ErrorKind::MissingRequiredArgument);
    let usage = usage.map(|usage| ["\n\n", usage].concat());
    [first, "\nhelp: ", &help, &usage.unwrap_or_default()].concat()
}

/// The unknown option that an error is about; `None` for other errors.
fn option(error: &Error) -> Option<&str> {
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    match error.get(ContextKind::InvalidArg).filter(|_| is_unknown)? {
        ContextValue::String(typed) if typed.starts_with('-') => Some(typed),
        _ => None,
    }
}

/// The command that a command line names.
struct Typed<'a> {
    command: &'a Command,
    /// The names of the command and of its parent commands, outermost first, without `help`.
    names: Vec<&'a str>,
}

impl<'a> Typed<'a> {
    fn find(program: &'a Command, words: &[OsString]) -> Self {
        let (mut command, mut names) = (program, Vec::new());
        let words = words.iter().skip(1).filter(|word| !word.as_encoded_bytes().starts_with(b"-"));
        for word in words {
            let Some(inner) = command.find_subcommand(word) else { break };
            // `help` accepts names of commands and no options, so any option there is an error.
            if inner.get_name() == "help" {
                continue;
            }
            command = inner;
            names.push(inner.get_name());
        }
        Self { command, names }
    }

    fn name(&self) -> String {
        [&["linkaudit"], &*self.names].concat().join(" ")
    }

    /// The suggestion for the unknown option `typed`; `None` if no known option is similar.
    fn help(&self, typed: &str, program: &Command) -> Option<String> {
        let Some(long) = typed.strip_prefix("--") else { return self.with_letter(typed) };
        let has = |command: &&Command| find(command, long).is_some();
        let owners: Vec<&Command> = program.get_subcommands().filter(has).collect();
        if let Some(example) = owners.first().and_then(|owner| example(owner, long)) {
            let names: Vec<&str> = owners.iter().map(|owner| owner.get_name()).collect();
            return Some(format!("{typed} is an option of {}: {example}", names.join(" and ")));
        }
        if let Some(near) = nearest(long, self.long_options()) {
            return Some(format!("did you mean `--{near}`?"));
        }
        self.is_link().then(|| {
            "archive reads only the linker options that it lists: linkaudit archive --help"
                .to_owned()
        })
    }

    /// The suggestion for an unknown short option: the long options that begin with its letter.
    /// `None` if there are none, and for `archive`.
    fn with_letter(&self, typed: &str) -> Option<String> {
        let letter = typed.strip_prefix('-').filter(|letter| letter.chars().count() == 1)?;
        let names = self.long_options().filter(|name| name.starts_with(letter));
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        let names: Vec<String> = names.iter().map(|name| format!("`--{name}`")).collect();
        match &names[..] {
            // Linkers have short options with other meanings, so none is suggested.
            _ if self.is_link() => None,
            [] => None,
            [one] => Some(format!("did you mean {one}?")),
            several => Some(format!("did you mean one of {}?", several.join(", "))),
        }
    }

    /// True for the command `archive`, which accepts linker options.
    fn is_link(&self) -> bool {
        self.names.first() == Some(&"archive")
    }

    /// The names of the long options that the help of the command lists.
    fn long_options(&self) -> impl Iterator<Item = &'a str> {
        let shown = self.command.get_arguments().filter(|option| !option.is_hide_set());
        shown.filter_map(Arg::get_long)
    }
}

fn find<'a>(command: &'a Command, long: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|option| option.get_long() == Some(long))
}

/// An example command line with the option `--long`; `None` if `command` does not have the option.
fn example(command: &Command, long: &str) -> Option<String> {
    let value = |option: &Arg| {
        let name = option.get_value_names().and_then(|names| names.first());
        name.map(|name| format!(" {name}")).unwrap_or_default()
    };
    let option = find(command, long)?;
    let positionals: String = command.get_positionals().map(value).collect();
    let takes = option.get_action().takes_values() && option.get_num_args() != Some(0.into());
    let own = if takes { value(option) } else { String::new() };
    Some(format!("linkaudit {}{positionals} --{long}{own}", command.get_name()))
}

/// The nearest known name for an unknown command or value; `None` if no name is similar. clap's own
/// suggestions are worded differently, and may name several commands.
fn near(error: &Error, program: &Command, words: &[OsString]) -> Option<String> {
    let typed = |kind| match error.get(kind) {
        Some(ContextValue::String(typed)) => Some(typed.as_str()),
        _ => None,
    };
    if let Some(name) = typed(ContextKind::InvalidSubcommand) {
        if name.starts_with('-') {
            return None;
        }
        let known = Typed::find(program, words).command.get_subcommands();
        return nearest(name, known.map(Command::get_name)).map(str::to_owned);
    }
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(known)) => {
            let value = typed(ContextKind::InvalidValue)?;
            nearest(value, known.iter().map(String::as_str)).map(str::to_owned)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::color;
    use crate::cli::Switch::{Always, Auto, Never};
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
