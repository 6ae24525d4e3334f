//! The command `man`: manual pages, generated from the definition of the command line.

use super::exit::Exit;
use super::out;
use crate::text::show_path;
use anyhow::{Context as _, Result};
use clap::Command;
use clap_mangen::Man;
use std::path::Path;

/// Runs `linkaudit man`: writes the page of the program to stdout, or all pages to `install`/man1.
pub(super) fn man(install: Option<&Path>) -> Result<Exit> {
    let program = super::shown();
    let Some(dir) = install else {
        let page = page(&program, "linkaudit")?;
        out::stdout(|w| w.write_all(&page)).context("cannot write the page to stdout")?;
        return Ok(Exit::Clean);
    };
    let section = dir.join("man1");
    let failed = |path: &Path| format!("cannot write {}", show_path(path));
    out::directories(&section).with_context(|| failed(&section))?;
    let mut commands = vec![("linkaudit".to_owned(), &program)];
    while let Some((name, command)) = commands.pop() {
        let file = section.join(format!("{}.1", name.replace(' ', "-")));
        let page = page(command, &name)?;
        out::file(&file, |w| w.write_all(&page)).with_context(|| failed(&file))?;
        let own = command.get_subcommands().filter(|own| own.get_name() != "help");
        commands.extend(own.map(|own| (format!("{name} {}", own.get_name()), own)));
    }
    Ok(Exit::Clean)
}

/// Renders the page of a command. `name` is the whole name with blanks: `linkaudit policy show`.
fn page(command: &Command, name: &str) -> Result<Vec<u8>> {
    let command = command.clone().name(name.replace(' ', "-")).bin_name(name);
    // `help` has no page of its own.
    let hide_help = |own: Command| if own.get_name() == "help" { own.hide(true) } else { own };
    let command = command.disable_help_subcommand(true).mut_subcommands(hide_help);
    let mut page = Vec::new();
    Man::new(command).render(&mut page).context("cannot make the page")?;
    Ok(page)
}
