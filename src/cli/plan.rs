//! Makes a [`Plan`] from the options. This module reads the environment, the current directory, and
//! the files that options name.
#![expect(clippy::disallowed_methods, reason = "clippy.toml points here for the environment")]

use super::baseline::Baselines;
use super::place::AuditedSystem;
use super::{
    Cli, FailOn, LoaderOption, SharedOptions, Switch, closure, hosts, lists, message, named,
    policy, refused, sandbox, threads, typed,
};
use crate::id::FastMap;
use crate::plan::{Cpu, LoaderRules, Plan};
use crate::policy::Day;
use crate::report::{NamedFormat, Paths, Style};
use crate::rules;
use crate::text::{did_you_mean, nearest};
use crate::tree::{EntryType, Errno, Tree, leads_to_process, without_dots};
use crate::views;
use crate::wants::Wants;
use anyhow::{Context as _, Result, bail};
use clap::CommandFactory as _;
use std::ffi::OsStr;
use std::io::IsTerminal as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum size in bytes of a list of paths.
const MOST_LISTED: u64 = 256 << 20;
/// Maximum length in bytes of a path in a list.
const LONGEST: usize = 1 << 20;

/// The plan of an audit, the file system that it reads, and the settings of its outputs.
pub(super) struct Prepared {
    pub(super) plan: Plan,
    pub(super) tree: Box<dyn Tree>,
    /// True if the sysroot has `usr/lib` and no `lib`. The links of a merged `/usr` are then
    /// assumed, such as `/lib` to `usr/lib`.
    merged: bool,
    pub(super) baselines: Baselines,
    pub(super) style: Style,
    /// The translation of paths for outputs.
    pub(super) paths: Paths,
    pub(super) progress: bool,
}

impl Prepared {
    /// Writes a note to stderr if the sysroot is read as merged-usr, unless `--quiet` is given.
    pub(super) fn say_what_is_assumed(&self, shared: &SharedOptions) {
        if self.merged && !shared.quiet {
            message::fact("the sysroot has usr/lib and no lib: it is read as merged-usr");
        }
    }
}

impl Prepared {
    /// Fails for the first PATH that is a file linkaudit does not read, such as a package or a
    /// script. `typed` are the PATHs as typed.
    pub(super) fn refuse_other_files(
        &self,
        shared: &SharedOptions,
        typed: &[PathBuf],
    ) -> Result<()> {
        if shared.answers_any_file() {
            return Ok(());
        }
        let mut pairs = self.plan.paths.iter().zip(typed);
        let classes = self.plan.reading().classes;
        match pairs.find_map(|(path, typed)| refused::reason(&*self.tree, path, typed, classes)) {
            Some(why) => bail!(why),
            None => Ok(()),
        }
    }
}

/// The requested outputs of a run: one for stdout, and others with their files.
pub(super) struct Sinks<O: 'static> {
    pub(super) stdout: &'static O,
    pub(super) files: Vec<(&'static O, PathBuf)>,
}

/// Translates a typed path to its path in the audited tree, with links resolved. `None` if the path
/// does not exist there.
pub(super) fn real_path(shared: &SharedOptions, path: &Path, tree: &dyn Tree) -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let named = AuditedSystem::new(shared, &here).ok()?.named(path).ok()?;
    tree.real_path(&named).ok()
}

/// Makes the plan of an audit. Errors in the options are reported here, before the audit starts.
pub(super) fn prepare(shared: &SharedOptions, paths: &[PathBuf]) -> Result<Prepared> {
    prepare_with(shared, paths, &[], &[])
}

fn loader_rules(option: LoaderOption) -> Option<LoaderRules> {
    match option {
        LoaderOption::Auto => None,
        LoaderOption::Glibc => Some(LoaderRules::Glibc),
        LoaderOption::Musl => Some(LoaderRules::Musl),
        LoaderOption::Guix => Some(LoaderRules::Guix),
    }
}

/// Like [`prepare`]. `places` are more directories to search for candidates, before the directories
/// of `--lib-path`. `written` are output files of command-specific options, such as
/// `--why-extract`.
///
/// First, the files that options name are read. Then the process enters the sandbox and starts its
/// threads. Audited files are read last.
pub(super) fn prepare_with(
    shared: &SharedOptions,
    paths: &[PathBuf],
    places: &[PathBuf],
    written: &[&Path],
) -> Result<Prepared> {
    let here = current_directory(paths.iter().chain(places))?;
    let place = AuditedSystem::new(shared, &here)?;
    let listed = match &shared.files_from {
        Some(file) => read_list("--files-from", file, shared.null)?,
        None => Vec::new(),
    };
    let closure = match &shared.nix_closure {
        Some(file) => closure::items(&read_bytes("--nix-closure", file)?, file)?,
        None => Vec::new(),
    };
    let is_listed = shared.files_from.is_some() || shared.nix_closure.is_some();
    if paths.is_empty() && !is_listed && shared.staged.is_empty() {
        bail!("nothing to audit\nhelp: name a directory or a file: linkaudit /usr/lib");
    }
    let policy = policy::of_run(shared, colored(shared, std::io::stderr().is_terminal()))?;
    let mut lists = lists::of_policy(&policy);
    let baselines = Baselines::new(shared)?;
    let replaced = match &shared.replaces {
        Some(file) => installed(read_list("--replaces", file, false)?),
        None => Vec::new(),
    };
    sandbox::enter(shared, written);
    let threads = threads::start(wanted_threads(shared));
    let System { tree, merged, moved, stage_of } =
        System::new(shared, &place, paths, places, &replaced)?;
    let named = |path: &PathBuf| existing(shared, (&place, &*tree), (&here, path));
    let mut paths: Vec<PathBuf> = paths.iter().map(named).collect::<Result<_>>()?;
    if paths.is_empty() && !is_listed {
        paths.push(PathBuf::from("/"));
    }
    let closure: Vec<PathBuf> = closure.into_iter().map(|path| place.listed(path)).collect();
    let listed = listed.into_iter().map(|path| place.listed(path));
    let listed: Arc<[PathBuf]> = listed.chain(closure.iter().cloned()).collect();
    // Installed paths of staged files start at `/`, so `/` is their default prefix.
    let whole = (!shared.staged.is_empty()).then(|| PathBuf::from("/"));
    let prefix = shared.prefix.as_ref().map(|dir| prefix(dir, &place, &*tree)).transpose()?;
    let prefix = prefix.or(whole);
    if let Some(prefix) = &prefix {
        all_below(prefix, paths.iter().chain(&*listed), &*tree)?;
    }
    for list in &mut lists {
        lists::translate(&mut list.from, |dir| tree.real_path(&place.named(dir).ok()?).ok());
    }
    let mut lib_paths = searched(places.iter(), named, &*tree)?;
    lib_paths.extend(typed_lib_paths(shared, &place, &*tree)?);
    lib_paths.extend(lists::places(&policy, &place, &*tree));
    let hosts = hosts::read(&shared.host, &place, &*tree)?;
    let plan = Plan {
        paths,
        link: None,
        listed,
        closure: Arc::new(closure.into_iter().collect()),
        has_root: shared.root.is_some(),
        stages: shared.staged.clone(),
        typed_options: typed::options(shared),
        prefix,
        self_dirs: Vec::new(),
        lib_paths,
        loader: loader_rules(shared.loader),
        as_ldd: shared.as_ldd,
        every_file_is_root: shared.as_ldd,
        infer_hosts: !shared.no_inferred_hosts,
        facts: shared.facts,
        cross_check: shared.cross_check,
        definitions: false,
        reuse: !shared.no_reuse,
        ld_library_path: bytes(shared.ld_library_path.as_deref()),
        ld_preload: bytes(shared.ld_preload.as_deref()),
        cwd: place.cwd.clone(),
        cwd_stated: shared.cwd.is_some(),
        cpu: shared.cpu.as_deref().map_or_else(|| Ok(place.cpu()), cpu)?,
        cpu_stated: shared.cpu.is_some(),
        policy,
        rule_wants: Wants::NONE,
        hosts,
        today: today(),
        members: !lists.is_empty(),
        indexes: false,
        symbols: Vec::new(),
        lists: Arc::new(lists),
        fix: None,
        gpu: None,
        threads,
    };
    let policies = plan.policy.files().map(Path::to_path_buf).collect();
    let plan = Plan { rule_wants: rules::wants(&plan), ..plan };
    let (typed_options, typed_paths) = (plan.typed_options.clone(), views::typed_paths(&plan));
    let outputs = Paths { typed_options, typed_paths, ..place.outputs(shared)? };
    Ok(Prepared {
        plan,
        tree,
        merged,
        baselines,
        style: style(shared),
        paths: Paths { staged: moved, stage_of, policies, ..outputs },
        progress: shows_progress(shared),
    })
}

/// Translates a PATH to its path in the audited system. Fails if it does not exist there, or if it
/// is a link such as `/proc/self/exe`, which leads to a different file in each process.
fn existing(
    shared: &SharedOptions,
    (place, tree): (&AuditedSystem<'_>, &dyn Tree),
    (here, typed): (&Path, &Path),
) -> Result<PathBuf> {
    let (named, shown) = (place.named(typed)?, crate::text::show_path(typed));
    match tree.kind(&named) {
        Err(errno) => {
            let reason = crate::tree::walk::describe(errno);
            let is_absent = errno == Errno::NOENT && !tree.is_link(&named);
            let may_be_command = is_absent && !shared.has_command;
            let help = if may_be_command { command_meant(typed) } else { String::new() };
            let inside = shared.root.as_deref().map(crate::text::show_path);
            let inside = inside.map(|root| format!(" in --root {root}")).unwrap_or_default();
            bail!("{shown}: {reason}{inside}{help}");
        }
        Ok(EntryType::File) if leads_to_process(&here.join(typed)) => bail!(
            "{shown}: leads to another file in each process\nhelp: name the file by its own path"
        ),
        Ok(_) => Ok(named),
    }
}

/// The files and directories to search for candidates, translated by `named`. Fails for the first
/// packed file, such as a Debian package: it must be unpacked first.
fn searched<'p>(
    typed: impl Iterator<Item = &'p PathBuf>,
    named: impl Fn(&PathBuf) -> Result<PathBuf>,
    tree: &dyn Tree,
) -> Result<Vec<PathBuf>> {
    let place = |typed: &'p PathBuf| -> Result<PathBuf> {
        let path = named(typed)?;
        match refused::packed(tree, &path, typed) {
            Some(why) => bail!(why),
            None => Ok(path),
        }
    };
    typed.map(place).collect()
}

/// The files and directories of `--lib-path`, as paths in the audited system.
fn typed_lib_paths(
    shared: &SharedOptions,
    place: &AuditedSystem<'_>,
    tree: &dyn Tree,
) -> Result<Vec<PathBuf>> {
    let named = |dir: &PathBuf| of_option("--lib-path", dir, place, tree);
    searched(shared.lib_path.iter(), named, tree)
}

fn shows_progress(shared: &SharedOptions) -> bool {
    match shared.progress {
        Switch::Always => true,
        Switch::Never => false,
        Switch::Auto => !shared.quiet && std::io::stderr().is_terminal(),
    }
}

/// The current directory; `/` if it was removed and no typed path needs it.
fn current_directory<'p>(mut typed: impl Iterator<Item = &'p PathBuf>) -> Result<PathBuf> {
    match std::env::current_dir() {
        Err(_) if typed.all(|path| path.is_absolute()) => Ok("/".into()),
        here => here.context("cannot read the current directory"),
    }
}

/// [`Prepared::paths`] for `diff`, which needs no plan if it compares two reports.
pub(super) fn output_paths(shared: &SharedOptions) -> Result<Paths> {
    let here = current_directory(std::iter::empty())?;
    AuditedSystem::new(shared, &here)?.outputs(shared)
}

/// The style of reports on stdout.
pub(super) fn style(shared: &SharedOptions) -> Style {
    let on_terminal = std::io::stdout().is_terminal();
    Style {
        color: colored(shared, on_terminal),
        verbose: shared.verbose,
        quiet: shared.quiet,
        next_step: !shared.isolated,
        warnings_fail: shared.fail_on == FailOn::Warning,
        stale_fails: shared.fail_on_stale,
        gone_fails: shared.fail_on_gone,
        width: on_terminal.then(columns).flatten(),
    }
}

/// The audited file system, as [`System::new`] makes it from the options.
struct System {
    tree: Box<dyn Tree>,
    /// True if the links of a merged `/usr` are assumed.
    merged: bool,
    /// See [`Paths::staged`].
    moved: FastMap<PathBuf, PathBuf>,
    /// See [`Paths::stage_of`].
    stage_of: FastMap<PathBuf, usize>,
}

impl System {
    /// Makes the file system. With stages, a directory that was typed as an installed path lists
    /// its installed files and its staged files. `replaced` are the paths that the installation of
    /// the stages removes.
    fn new(
        shared: &SharedOptions,
        place: &AuditedSystem<'_>,
        paths: &[PathBuf],
        places: &[PathBuf],
        replaced: &[PathBuf],
    ) -> Result<Self> {
        let sysroot = place.tree()?;
        let merged = sysroot.is_merged();
        let Some(staged) = place.laid(replaced)? else {
            let (moved, stage_of) = Default::default();
            return Ok(Self { tree: Box::new(sysroot), merged, moved, stage_of });
        };
        let typed = paths.iter().chain(places).chain(&shared.lib_path);
        let whole = typed.filter(|path| !place.is_staged(path)).map(|path| place.named(path));
        let staged = staged.listing(whole.collect::<Result<_>>()?);
        let (moved, stage_of) = (staged.moved().clone(), staged.stage_of().clone());
        Ok(Self { tree: Box::new(staged), merged, moved, stage_of })
    }
}

/// Makes lines of `--replaces` absolute. `usr/lib/a` and `./usr/lib/a`, the spellings of tar
/// archives, become `/usr/lib/a`.
fn installed(lines: Vec<PathBuf>) -> Vec<PathBuf> {
    lines.into_iter().map(|path| without_dots(&Path::new("/").join(path))).collect()
}

/// The directory of `--prefix`, with links resolved.
fn prefix(dir: &Path, place: &AuditedSystem<'_>, tree: &dyn Tree) -> Result<PathBuf> {
    let named = of_option("--prefix", dir, place, tree)?;
    let typed = crate::text::show_path(dir);
    if tree.kind(&named) != Ok(EntryType::Directory) {
        bail!("--prefix {typed}: not a directory");
    }
    tree.real_path(&named).with_context(|| format!("--prefix {typed}"))
}

/// The path in the audited system of a file or directory that `option` names. Fails if it does not
/// exist there.
fn of_option(
    option: &str,
    typed: &Path,
    place: &AuditedSystem<'_>,
    tree: &dyn Tree,
) -> Result<PathBuf> {
    let named = place.named(typed)?;
    let shown = crate::text::show_path(typed);
    tree.kind(&named).with_context(|| format!("{option} {shown}"))?;
    Ok(named)
}

/// Fails for the first path outside `prefix`. A link below `prefix` is accepted, even if its target
/// is outside. A missing path is skipped: it becomes a finding.
fn all_below<'a>(
    prefix: &Path,
    mut paths: impl Iterator<Item = &'a PathBuf>,
    tree: &dyn Tree,
) -> Result<()> {
    let is_below = |path: &Path| {
        let own = tree.real_path(path);
        // A path that ends in `..` has no file name.
        let dir = path.file_name().and_then(|_| path.parent());
        let dir = dir.map(|dir| if dir.as_os_str().is_empty() { Path::new(".") } else { dir });
        let beside = dir.and_then(|dir| tree.real_path(dir).ok());
        own.iter().chain(&beside).any(|real| real.starts_with(prefix))
    };
    let outside = paths.find(|path| tree.kind(path).is_ok() && !is_below(path));
    match outside.map(|path| crate::text::show_path(path)) {
        Some(path) => bail!(
            "{path}: not below --prefix {}\nhelp: name a directory that contains all paths, or omit --prefix",
            crate::text::show_path(prefix)
        ),
        None => Ok(()),
    }
}

/// The help for a missing PATH that equals or resembles the name of a command; empty for other
/// paths.
fn command_meant(path: &Path) -> String {
    let word = path.to_str().filter(|word| !word.contains('/')).unwrap_or_default();
    let program = Cli::command();
    let names = program.get_subcommands().map(clap::Command::get_name);
    match nearest(word, names) {
        Some(name) if name == word => {
            format!("\nhelp: put the command first: linkaudit {name} PATH")
        }
        Some(name) => format!("\nhelp: did you mean `{name}`?"),
        None => String::new(),
    }
}

/// True if text is coloured. `on_terminal` is true if the text goes to a terminal.
pub(super) fn colored(shared: &SharedOptions, on_terminal: bool) -> bool {
    colored_by(shared.color, on_terminal)
}

/// Like [`colored`], for a value of `--color`. The usual environment variables apply (no-color.org,
/// bixense.com/clicolors, force-color.org). `NO_COLOR` precedes `CLICOLOR_FORCE` and `FORCE_COLOR`,
/// which precede `CLICOLOR`, `TERM` and the terminal. As in Node.js, `FORCE_COLOR=0` means never.
pub(super) fn colored_by(switch: Switch, on_terminal: bool) -> bool {
    let value = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let is_on = |name: &str| value(name).is_some_and(|value| value != "0");
    match switch {
        Switch::Always => true,
        Switch::Never => false,
        Switch::Auto if value("NO_COLOR").is_some() => false,
        Switch::Auto if is_on("CLICOLOR_FORCE") || is_on("FORCE_COLOR") => true,
        Switch::Auto if value("FORCE_COLOR").is_some() => false,
        Switch::Auto => {
            on_terminal
                && value("CLICOLOR").is_none_or(|value| value != "0")
                && value("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

fn bytes(text: Option<&OsStr>) -> Vec<u8> {
    text.map_or(Vec::new(), |text| text.as_bytes().to_vec())
}

/// The processor for a value of `--cpu`. Fails for an unknown name.
fn cpu(name: &str) -> Result<Cpu> {
    Cpu::named(name).with_context(|| {
        let all = format!("--cpu takes {}", Cpu::names().join(", "));
        format!("unknown processor `{name}`\nhelp: {}", did_you_mean(name, Cpu::names(), &all))
    })
}

/// The outputs that `--format` and `--output` request. `outputs` has all outputs of `command`.
pub(super) fn sinks<O: NamedFormat>(
    shared: &SharedOptions,
    command: &str,
    outputs: &'static [O],
) -> Result<Sinks<O>> {
    sinks_of((&shared.format, &shared.output), command, outputs, &[])
}

/// The outputs for a `--format` and for pairs `NAME=FILE`. `outputs` has all outputs of `command`.
/// An error about a pair also lists `others`, the names of other outputs of the command, such as
/// the emitters of `fix`.
pub(super) fn sinks_of<O: NamedFormat>(
    (format, pairs): (&str, &[String]),
    command: &str,
    outputs: &'static [O],
    others: &[&str],
) -> Result<Sinks<O>> {
    let find = |name: &str, others: &[&str]| {
        outputs.iter().find(|output| output.name() == name).with_context(|| {
            let mut names: Vec<&str> = outputs.iter().map(NamedFormat::name).collect();
            names.extend(others);
            let all = format!("the outputs are {}", names.join(", "));
            let right = did_you_mean(name, names.iter().copied(), &all);
            format!("unknown output `{name}` of `{command}`\nhelp: {right}")
        })
    };
    let stdout = find(format, &[])?;
    let mut files = Vec::new();
    for pair in pairs {
        let named = pair.split_once('=').filter(|(_, file)| !file.is_empty());
        let Some((name, file)) = named else {
            bail!(
                "--output {pair}: not of the form NAME=FILE\nhelp: write --output json=report.json"
            );
        };
        refuse_stdout((name, file), "--format")?;
        files.push((find(name, others)?, PathBuf::from(file)));
    }
    Ok(Sinks { stdout, files })
}

/// Refuses `-` as the file of an output. `option` selects the output for stdout.
pub(super) fn refuse_stdout((name, file): (&str, &str), option: &str) -> Result<()> {
    if file == "-" {
        bail!(
            "--output {name}=-: not a file\nhelp: to write to stdout, use {option} {name}; for a file with this name, ./-"
        );
    }
    Ok(())
}

/// Today in UTC, from the days since 1970 by the rules of the Gregorian calendar.
pub(super) fn today() -> Day {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let mut left = since.map_or(0, |since| since.as_secs() / 86_400);
    let is_leap = |y: u16| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let mut year = 1970;
    while left >= 365 + u64::from(is_leap(year)) && year < u16::MAX {
        left -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    Day { year, month, day: u8::try_from(left + 1).unwrap_or(31) }
}

pub(super) fn wanted_threads(shared: &SharedOptions) -> usize {
    let present = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    shared.jobs.map_or_else(present, std::num::NonZero::get).min(threads::MOST)
}

fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// The paths in the list that `option` names.
fn read_list(option: &str, file: &Path, null: bool) -> Result<Vec<PathBuf>> {
    let bytes = read_bytes(option, file)?;
    let end = if null { 0 } else { b'\n' };
    if !null && bytes.contains(&0) {
        let help =
            if option == "--files-from" { "\nhelp: if NUL ends the paths, add -0" } else { "" };
        bail!("{}: contains NUL bytes{help}", shown(option, file));
    }
    let mut paths = Vec::new();
    for (number, path) in (1..).zip(bytes.split(|b| *b == end)) {
        if path.len() > LONGEST {
            bail!("{}: entry {number}: longer than {} KiB", shown(option, file), LONGEST >> 10);
        }
        if !path.is_empty() {
            paths.push(PathBuf::from(OsStr::from_bytes(path)));
        }
    }
    Ok(paths)
}

/// The content of a list that `option` names; `-` is stdin.
fn read_bytes(option: &str, file: &Path) -> Result<Vec<u8>> {
    let bytes =
        if is_stdin(file) { named::stdin(MOST_LISTED) } else { named::read(file, MOST_LISTED) };
    let help = "name the file `-` to read the list from stdin";
    bytes.map_err(|why| named::refused_with(&shown(option, file), &why, help))
}

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

/// The words by which messages name an option and its list.
fn shown(option: &str, file: &Path) -> String {
    let name = if is_stdin(file) { "stdin".to_owned() } else { crate::text::show_path(file) };
    format!("{option} {name}")
}
