//! From what was typed to a [`Plan`]: the one place that reads the environment, the current
//! directory, and the files that options name.
#![expect(clippy::disallowed_methods, reason = "clippy.toml points here for the environment")]

use super::{Shared, Switch};
use crate::judge::Levels;
use crate::plan::{Cpu, Plan};
use crate::report::{Named, Style};
use crate::tree::{DiskTree, Tree as _};
use anyhow::{Context as _, Result, bail};
use std::ffi::OsStr;
use std::io::{IsTerminal as _, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// More threads than this gain nothing on any file system.
const MOST_THREADS: usize = 64;

/// What an audit needs besides the plan.
pub(super) struct Prepared {
    pub(super) plan: Plan,
    pub(super) levels: Levels,
    pub(super) style: Style,
    pub(super) progress: bool,
}

/// Where the outputs of a run go.
pub(super) struct Sinks<O: 'static> {
    pub(super) stdout: &'static O,
    pub(super) files: Vec<(&'static O, PathBuf)>,
}

/// Makes the plan of an audit; every mistake in what was typed is found before anything runs.
pub(super) fn prepare(shared: &Shared, paths: Vec<PathBuf>) -> Result<Prepared> {
    let listed = match &shared.files_from {
        Some(file) => read_list(file, shared.null)?,
        None => Vec::new(),
    };
    if paths.is_empty() && shared.files_from.is_none() {
        bail!("nothing to audit: name a directory or a file, as in `linkaudit /usr/lib`");
    }
    for path in paths.iter().chain(&shared.lib_path) {
        if let Err(errno) = DiskTree.kind(path) {
            let reason = crate::tree::walk::describe(errno);
            bail!("{}: {reason}", crate::text::show_path(path));
        }
    }
    let plan = Plan {
        paths,
        listed,
        lib_paths: shared.lib_path.clone(),
        as_ldd: shared.as_ldd,
        every_file_is_root: shared.as_ldd,
        facts: shared.facts,
        definitions: false,
        reuse: !shared.no_reuse,
        cwd: std::env::current_dir().context("the current directory cannot be read")?,
        cpu: Cpu::host(is_intel()),
        threads: threads(shared),
    };
    let on_terminal = std::io::stdout().is_terminal();
    let color = match shared.color {
        Switch::Always => true,
        Switch::Never => false,
        Switch::Auto => {
            on_terminal
                && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    };
    let style = Style {
        color,
        verbose: shared.verbose,
        quiet: shared.quiet,
        width: on_terminal.then(columns).flatten(),
    };
    let progress = match shared.progress {
        Switch::Always => true,
        Switch::Never => false,
        Switch::Auto => !shared.quiet && std::io::stderr().is_terminal(),
    };
    Ok(Prepared { plan, levels: levels(shared)?, style, progress })
}

/// The outputs that were asked for, among those that `command` has.
pub(super) fn sinks<O: Named>(
    shared: &Shared,
    command: &str,
    outputs: &'static [O],
) -> Result<Sinks<O>> {
    let find = |name: &str| {
        outputs.iter().find(|output| output.name() == name).with_context(|| {
            let names: Vec<&str> = outputs.iter().map(Named::name).collect();
            format!("`{command}` has no output `{name}`; there are {}", names.join(", "))
        })
    };
    let stdout = find(&shared.format)?;
    let mut files = Vec::new();
    for pair in &shared.output {
        let Some((name, file)) = pair.split_once('=') else {
            bail!("--output {pair}: write NAME=FILE, as in --output json=report.json");
        };
        files.push((find(name)?, PathBuf::from(file)));
    }
    Ok(Sinks { stdout, files })
}

fn levels(shared: &Shared) -> Result<Levels> {
    for (name, _) in &shared.levels {
        if !Levels::knows(name) {
            bail!("`{name}` is no rule and no group; `linkaudit explain` lists them");
        }
    }
    Ok(Levels { settings: shared.levels.clone() })
}

fn threads(shared: &Shared) -> usize {
    let present = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    shared.jobs.map_or_else(present, std::num::NonZero::get).min(MOST_THREADS)
}

fn is_intel() -> bool {
    // glibc looks at the CPUID vendor; the kernel shows the same string.
    std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains("GenuineIntel"))
}

fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

fn read_list(file: &Path, null: bool) -> Result<Vec<PathBuf>> {
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut bytes).context("stdin cannot be read")?;
    } else {
        let shown = crate::text::show_path(file);
        bytes = std::fs::read(file).with_context(|| format!("{shown} cannot be read"))?;
    }
    let end = if null { 0 } else { b'\n' };
    Ok(bytes
        .split(|b| *b == end)
        .filter(|path| !path.is_empty())
        .map(|path| PathBuf::from(OsStr::from_bytes(path)))
        .collect())
}
