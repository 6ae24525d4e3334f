//! The command `demo`: builds an example, then shows commands on the example and runs them as if
//! you had typed them.

use super::exit::Exit;
use super::{Cli, Command, Sandbox, SharedOptions, check, fix, lists, out};
use crate::demo::{DemoFile, LINKED, build, sources};
use crate::text::{shell_path, show_path};
use anyhow::{Context as _, Result, bail};
use clap::Parser as _;
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// The default directory of the demonstration.
const DIR: &str = "linkaudit-demo";
const LIST: &str = "librockcompiler_deps.cmake";
const NEW: &str = "new_deps.cmake";

/// Runs `linkaudit demo` in the new directory `dir`; `None` means [`DIR`]. Returns the exit status
/// of `fix`, or of the last `check` if `fix` succeeds.
pub(super) fn demo(shared: &SharedOptions, dir: Option<&Path>) -> Result<Exit> {
    let dir = dir.unwrap_or(Path::new(DIR));
    let shown = show_path(dir);
    if let Err(error) = out::new_directory(dir) {
        if error.kind() == io::ErrorKind::AlreadyExists {
            bail!("{shown}: already exists\nhelp: name a new directory: linkaudit demo DIR");
        }
        return Err(error).with_context(|| format!("cannot create {shown}"));
    }
    write(dir, sources())?;
    let old = lists::read(&dir.join(LIST)).map_err(anyhow::Error::msg)?;
    write(dir, build(&old, "build/lib"))?;
    say(&format!(
        "{shown} has the archives of a miniature compiler. librockCompiler.a was merged from the archives\n\
         that {LIST} lists, and {LINKED} was linked from it without an error.\n"
    ))?;
    let library = dir.join("build/lib").join(LINKED);
    let (lib, llvm) = (dir.join("build/lib"), dir.join("llvm/lib"));
    typed(shared, &["check".as_ref(), &library])?;
    let new = dir.join(NEW);
    let mut output = OsString::from("cmake-deps=");
    output.push(&new);
    let fixed = typed(
        shared,
        &[
            "fix".as_ref(),
            &library,
            "--lib-path".as_ref(),
            &lib,
            "--lib-path".as_ref(),
            &llvm,
            "--deps-list".as_ref(),
            &dir.join(LIST),
            "-o".as_ref(),
            Path::new(&output),
        ],
    )?;
    let list = lists::read(&new).map_err(anyhow::Error::msg)?;
    write(dir, build(&list, "after/lib"))?;
    say(&format!("Merged and linked again from {NEW}:\n"))?;
    let after = typed(shared, &["check".as_ref(), &dir.join("after/lib").join(LINKED)])?;
    Ok(if fixed == Exit::Clean { after } else { fixed })
}

fn write(dir: &Path, files: Vec<DemoFile>) -> Result<()> {
    for (name, bytes) in files {
        let path = dir.join(name);
        if let Some(parent) = path.parent() {
            out::directories(parent)
                .with_context(|| format!("cannot create {}", show_path(parent)))?;
        }
        out::file(&path, |w| w.write_all(&bytes))
            .with_context(|| format!("cannot write {}", show_path(&path)))?;
    }
    Ok(())
}

fn say(text: &str) -> Result<()> {
    out::stdout(|w| writeln!(w, "{text}")).context("cannot write to stdout")
}

/// Shows the command line with `words`, and runs it in this process.
fn typed(shared: &SharedOptions, words: &[&Path]) -> Result<Exit> {
    let word = |word: &&Path| match show_path(word) {
        option if option.starts_with('-') => option,
        _ => shell_path(word),
    };
    let shown: Vec<String> = words.iter().map(word).collect();
    say(&format!("$ linkaudit {}", shown.join(" ")))?;
    let mut all: Vec<OsString> = vec!["linkaudit".into(), "--isolated".into()];
    all.extend(words.iter().map(|word| word.as_os_str().to_owned()));
    let Ok(mut cli) = Cli::try_parse_from(all) else { bail!("{shown:?} is not a command") };
    // A process cannot leave its sandbox, and later steps must write files.
    cli.shared.sandbox = Sandbox::Off;
    cli.shared.color = shared.color;
    cli.shared.jobs = shared.jobs;
    cli.shared.cpu.clone_from(&shared.cpu);
    let exit = match &cli.command {
        Some(Command::Check { paths }) => check::check(&cli.shared, paths)?,
        Some(Command::Fix(options)) => fix::fix(&cli.shared, options)?,
        _ => bail!("{shown:?} is not a command of the demo"),
    };
    say("")?;
    Ok(exit)
}
