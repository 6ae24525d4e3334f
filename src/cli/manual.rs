//! The commands `man` and `completions`: manual pages, and completion scripts. Both are generated
//! from the options.

use super::exit::Exit;
use super::out;
use crate::text::show_path;
use anyhow::{Context as _, Result};
use clap_complete::Shell;
use clap_mangen::Man;
use std::path::Path;

/// Runs `linkaudit man`: writes the page of the program to stdout, or all pages to `install`/man1.
pub(super) fn man(install: Option<&Path>) -> Result<Exit> {
    let program = super::shown();
    let Some(dir) = install else {
        let page = page(&program, None)?;
        out::stdout(|w| w.write_all(&page)).context("cannot write the page to stdout")?;
        return Ok(Exit::Clean);
    };
    let section = dir.join("man1");
    let failed = |path: &Path| format!("cannot write {}", show_path(path));
    out::directories(&section).with_context(|| failed(&section))?;
    let commands = program.get_subcommands().filter(|command| command.get_name() != "help");
    let pages = std::iter::once((&program, None))
        .chain(commands.map(|command| (command, Some(command.get_name()))));
    for (command, name) in pages {
        let file = match name {
            None => "linkaudit.1".to_owned(),
            Some(name) => format!("linkaudit-{name}.1"),
        };
        let (file, page) = (section.join(file), page(command, name)?);
        out::file(&file, |w| w.write_all(&page)).with_context(|| failed(&file))?;
    }
    Ok(Exit::Clean)
}

/// Renders one page. `name` is the name of the command, or `None` for the page of the program.
fn page(command: &clap::Command, name: Option<&str>) -> Result<Vec<u8>> {
    let mut command = command.clone().disable_help_subcommand(true);
    if let Some(name) = name {
        let whole = format!("linkaudit-{name}");
        command = command.name(whole).bin_name(format!("linkaudit {name}"));
    }
    let mut page = Vec::new();
    Man::new(command).render(&mut page).context("cannot make the page")?;
    Ok(page)
}

/// Runs `linkaudit completions`: writes the completion script for `shell` to stdout.
pub(super) fn completions(shell: Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::shown(), "linkaudit", &mut script);
    out::stdout(|w| w.write_all(&script)).context("cannot write the script to stdout")?;
    Ok(Exit::Clean)
}
