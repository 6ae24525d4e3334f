//! The command `hook`: prints the integration with a package manager, build system or CI service,
//! installs the files of the integration below a directory, or removes them from there. A file that
//! differs from the integration's file is never overwritten or removed.

use super::exit::Exit;
use super::table::table;
use super::{HookOptions, named, out, page};
use crate::hooks::{HookFile, HookSystem, SYSTEMS, unified};
use crate::text::{did_you_mean, show, show_path};
use crate::tree::{DiskTree, Tree as _};
use anyhow::{Context as _, Result, bail};
use rustix::io::Errno;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Upper bound in bytes for an existing file that is compared with the integration's file.
const MOST: u64 = 1 << 20;

/// Runs `linkaudit hook`. `width` is the width of the terminal in columns; `None` if stdout is not
/// a terminal.
pub(super) fn hook(options: &HookOptions, width: Option<usize>) -> Result<Exit> {
    let Some(name) = &options.system else { return list(width) };
    let Some(system) = HookSystem::named(name) else {
        let names = SYSTEMS.iter().map(|system| system.name);
        let right = did_you_mean(name, names, "list the systems: linkaudit hook");
        bail!("unknown system `{}`\nhelp: {right}", show(name.as_bytes()));
    };
    match &options.install {
        None => print(system, width),
        Some(dir) if options.uninstall => uninstall(system, dir),
        Some(dir) => install(system, dir),
    }
}

fn list(width: Option<usize>) -> Result<Exit> {
    let mut table = table(width);
    table.set_header(["system", "integration", "DIR for --install"]);
    for system in SYSTEMS {
        table.add_row([system.name, system.summary, system.dir]);
    }
    out::stdout(|w| writeln!(w, "{}", table.trim_fmt()))?;
    Ok(Exit::Clean)
}

/// Prints the files, then the documentation page as comments. If the integration has a single file,
/// the output can be redirected to the path of that file.
fn print(system: &HookSystem, width: Option<usize>) -> Result<Exit> {
    let mark = system.comment();
    let mut text = String::new();
    for file in system.files {
        if system.files.len() > 1 {
            let program = if file.is_program { ", a program" } else { "" };
            let _ = writeln!(text, "{mark} ==> {}{program} <==", file.path);
        }
        text += file.text;
        text.push('\n');
    }
    let width = width.map(|width| width.saturating_sub(mark.chars().count() + 1));
    for line in page::wrapped(system.page, width).lines() {
        text += format!("{mark} {line}").trim_end();
        text.push('\n');
    }
    out::stdout(|w| w.write_all(text.as_bytes())).context("cannot write the hook to stdout")?;
    Ok(Exit::Clean)
}

/// A file of an integration, its destination, and the present state of the destination.
struct Placed {
    file: &'static HookFile,
    path: PathBuf,
    there: There,
}

enum There {
    Absent,
    Same,
    /// The difference of the contents, or the reason why they were not compared.
    Other(String),
}

fn placed(system: &HookSystem, dir: &Path) -> Vec<Placed> {
    let place = |file: &'static HookFile| {
        let path = dir.join(file.path);
        Placed { file, there: there(&path, file), path }
    };
    system.files.iter().map(place).collect()
}

fn there(path: &Path, file: &HookFile) -> There {
    let tree = DiskTree::new();
    if tree.is_link(path) {
        return There::Other("is a link\n".to_owned());
    }
    match tree.kind(path) {
        Err(Errno::NOENT) => There::Absent,
        // A parent of `path` is a file. The error is reported when the directories are created.
        Err(Errno::NOTDIR) => There::Absent,
        _ => match named::read(path, MOST) {
            Ok(bytes) if bytes == file.text.as_bytes() => There::Same,
            Ok(bytes) => There::Other(difference(&bytes, file)),
            Err(why) => There::Other(format!("{why}\n")),
        },
    }
}

fn difference(there: &[u8], file: &HookFile) -> String {
    let old = String::from_utf8_lossy(there);
    let diff = unified(&old, file.text);
    if diff.is_empty() { "is not text in UTF-8\n".to_owned() } else { diff }
}

/// Fails if a destination has a file that differs from the integration's file, and shows the
/// differences on stderr.
fn refuse(placed: &[Placed], system: &HookSystem, done: &str) -> Result<()> {
    let mut shown = String::new();
    let mut count = 0;
    for Placed { path, there, .. } in placed {
        let There::Other(diff) = there else { continue };
        count += 1;
        let path = show_path(path);
        let _ = writeln!(shown, "--- {path}\n+++ linkaudit hook {}", system.name);
        for line in diff.lines() {
            let _ = writeln!(shown, "{}", show(line.as_bytes()));
        }
    }
    if count == 0 {
        return Ok(());
    }
    // A failed write is ignored: the message below has the summary.
    let _ = std::io::stderr().write_all(shown.as_bytes());
    let files =
        if count == 1 { "1 file differs".to_owned() } else { format!("{count} files differ") };
    bail!("{files}: nothing was {done}\nhelp: move the file away, or merge the two by hand");
}

fn install(system: &HookSystem, dir: &Path) -> Result<Exit> {
    let tree = DiskTree::new();
    if tree.kind(dir) != Ok(crate::tree::EntryType::Directory) {
        bail!("{}: not a directory\nhelp: create it first", show_path(dir));
    }
    let placed = placed(system, dir);
    refuse(&placed, system, "written")?;
    let mut said = String::new();
    for Placed { file, path, there } in &placed {
        let shown = show_path(path);
        if matches!(there, There::Same) {
            // `linkaudit hook SYSTEM > FILE` makes a file that is not executable.
            let is_inert = file.is_program && tree.mode(path).is_some_and(|mode| mode & 0o111 == 0);
            if is_inert {
                out::make_executable(path)
                    .with_context(|| format!("cannot make {shown} executable"))?;
            }
            let word = if is_inert { "made executable:" } else { "unchanged" };
            let _ = writeln!(said, "{word} {shown}");
            continue;
        }
        if let Some(parent) = path.parent() {
            out::directories(parent)
                .with_context(|| format!("cannot create {}", show_path(parent)))?;
        }
        let write = |w: &mut dyn std::io::Write| w.write_all(file.text.as_bytes());
        let written = if file.is_program {
            out::new_program(path, write)
        } else {
            out::new_file(path, write)
        };
        written.with_context(|| format!("cannot write {shown}"))?;
        let _ = writeln!(said, "wrote {shown}");
    }
    let name = system.name;
    let _ = writeln!(said, "help: usage, exceptions and removal: linkaudit hook {name}");
    out::stdout(|w| w.write_all(said.as_bytes())).context("cannot write to stdout")?;
    Ok(Exit::Clean)
}

fn uninstall(system: &HookSystem, dir: &Path) -> Result<Exit> {
    let placed = placed(system, dir);
    refuse(&placed, system, "removed")?;
    let mut said = String::new();
    for Placed { path, there, .. } in &placed {
        let shown = show_path(path);
        if matches!(there, There::Absent) {
            let _ = writeln!(said, "absent {shown}");
            continue;
        }
        out::remove(path).with_context(|| format!("cannot remove {shown}"))?;
        let _ = writeln!(said, "removed {shown}");
    }
    out::stdout(|w| w.write_all(said.as_bytes())).context("cannot write to stdout")?;
    Ok(Exit::Clean)
}
