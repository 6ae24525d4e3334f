//! The command line: the options and commands. `plan` makes a [`crate::plan::Plan`] from the
//! options, `commands` runs a command, and only `out` writes to stdout and to files.

mod archive;
mod archive_options;
mod baseline;
mod build_commands;
mod check;
mod closure;
pub mod commands;
mod compilers;
mod completions;
mod demo;
mod dependents;
mod diff;
mod driver_line;
pub mod exit;
mod explain;
mod first_policy;
mod fix;
mod gpu;
mod help;
mod hook;
mod hosts;
mod link_line;
mod linker_words;
mod lists;
mod manual;
pub mod message;
mod named;
mod nesting;
mod out;
mod output_conflicts;
mod page;
mod pasted_line;
mod place;
mod plan;
mod policy;
mod progress;
mod refused;
mod run;
mod sandbox;
mod script_commands;
mod scripts;
mod sections;
mod switches;
mod table;
mod threads;
mod typed;
mod versions;
mod views;

pub use archive_options::ArchiveOptions;

use crate::catalogue::Level;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
pub use help::{Answer, AnswerKind};
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Checks that programs and libraries will load: resolves needs, versions and symbols as the loader does.
#[derive(Parser, Debug)]
#[command(
    name = "linkaudit",
    version,
    about,
    after_help = "`check` is the default command. For a path that has the name of a command, write ./check.\n\
                  Exit status: 0 no finding at or above --fail-on, 1 findings, 2 usage error, \
                  3 incomplete audit, 70 internal error."
)]
pub struct Cli {
    /// The command; `check` if there is none.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of all commands.
    #[command(flatten)]
    pub shared: SharedOptions,
    /// Directories and files to audit
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
}

impl Cli {
    /// Parses the command line of this process. `Err` has the requested help or the error message.
    pub fn from_process() -> Result<Self, Answer> {
        let typed = link_line::expand(std::env::args_os());
        // The sections of the help take a millisecond to build. They are built only if the result
        // is help or an error.
        let matches = match Cli::command().try_get_matches_from(&typed.words) {
            Ok(matches) => matches,
            Err(_) => help::answer(&typed.words)?,
        };
        let cli = Self::from_arg_matches(&matches);
        let mut cli = cli.map_err(|error| help::of_values(&error, &typed.words))?;
        let on_terminal = std::io::stderr().is_terminal();
        message::set_color(plan::colored(&cli.shared, on_terminal));
        cli.shared.levels = policy::typed_levels(&matches);
        cli.shared.has_command = cli.command.is_some();
        if let Some(Command::Archive(options)) = &mut cli.command {
            options.typed = link_line::typed(&matches);
            options.response_files = typed.files;
            options.left_out = typed.left_out;
        }
        Ok(cli)
    }
}

/// The definition of the command line as the help shows it: options are in sections, and each
/// command hides options without effect.
fn shown() -> clap::Command {
    sections::apply(Cli::command())
}

/// Parses the value of `--jobs`.
fn jobs(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "expected a positive number")
}

/// Commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Audit directories and files (the default)
    Check {
        /// Directories and files to audit
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Show which files each entry point loads, and how the loader finds them
    #[command(
        after_help = "Exit status 1: a finding of missing-library, wrong-architecture or bad-library-file \
                            at or above --fail-on. The tree shows the library even if a level or waiver accepts it."
    )]
    Tree {
        /// Directories and files with the entry points
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Show which files need a library or symbol, which provide it, and where the loader searched
    Why(WhyOptions),
    /// Show which members of static archives a link needs, for which symbols, and what stays undefined
    Archive(Box<ArchiveOptions>),
    /// List code objects for GPUs, and the targets that each library serves
    Gpu(GpuOptions),
    /// Find fixes for findings, verify them, and write them: lists of archives, scripts, linker flags
    Fix(FixOptions),
    /// Compare two versions of a prefix: what became worse, and what was fixed
    Diff(DiffOptions),
    /// Check, show and create policies
    Policy {
        /// The action
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Build a small broken library from merged archives, audit it and fix it
    Demo {
        /// The directory to create
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Show the page of a rule, or a table of all rules or the rules of a group
    Explain {
        /// The id of a rule, or a group
        #[arg(value_name = "RULE|GROUP")]
        rule: Option<String>,
    },
    /// Print or install the integration with a package manager, build system or CI service
    Hook(HookOptions),
    /// Print the manual page
    Man {
        /// Write the pages of all commands to DIR/man1 instead
        #[arg(long, value_name = "DIR")]
        install: Option<PathBuf>,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Options of `why`.
#[derive(Args, Debug)]
pub struct WhyOptions {
    /// A soname, a file name, a raw symbol name with or without version (foo@V_1), or a C++ or Rust
    /// name, also without outer namespaces and parameters (Shape::id)
    #[arg(value_name = "NAME")]
    pub name: OsString,
    /// Directories and files to search
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Answer only for this entry point (its path, or the last parts of it): how it loads the
    /// library, or in which files the loader searches for the symbol
    #[arg(long, value_name = "ENTRY")]
    pub under: Option<PathBuf>,
}

/// Options of `gpu`.
#[derive(Args, Debug)]
pub struct GpuOptions {
    /// Directories and files to search for device code
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// List the libraries without code for this GPU, such as gfx1030 or gfx90a:xnack+
    #[arg(long, value_name = "ID")]
    pub target: Option<String>,
    /// Inflate compressed bundles completely, compare their checksums, and list kernels
    #[arg(long)]
    pub deep: bool,
}

/// Options of `fix`.
#[derive(Args, Debug)]
pub struct FixOptions {
    /// Directories and files to audit
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Write this output to stdout: cmake-deps, mri, ldflags, link-line, pkg-config, patchelf, gpu-cmake,
    /// gpu-nix, gpu-gentoo, rebuild-order, policy-waivers, checklist or cmake-install. -o NAME=FILE writes
    /// one to a file
    #[arg(long, value_name = "NAME")]
    pub emit: Vec<String>,
    /// The merged archive, if --lib-path does not identify it
    #[arg(long, value_name = "FILE")]
    pub archive: Option<PathBuf>,
    /// The CMake file that lists the parts of the merged archive, or the archives that PATH is linked with
    #[arg(long, value_name = "FILE")]
    pub deps_list: Option<PathBuf>,
    /// Also remove from the list the archives that no object needs
    #[arg(long, requires = "deps_list")]
    pub minimal: bool,
}

/// The sides of `diff`.
#[derive(Args, Debug)]
pub struct DiffOptions {
    /// The old version: a directory, or a JSON report of it (with --facts, to compare symbols)
    #[arg(value_name = "OLD")]
    pub old: PathBuf,
    /// The new version: a directory or a JSON report
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
    /// Other packages (a prefix or JSON report): report the files and symbols they use that NEW lacks
    #[arg(long, value_name = "PREFIX")]
    pub against: Vec<PathBuf>,
    /// OLD and NEW are staging directories (DESTDIR)
    #[arg(long)]
    pub stages: bool,
}

/// The system of `hook`, and the directory it is installed in.
#[derive(Args, Debug)]
pub struct HookOptions {
    /// A package manager, build system or CI service; if omitted, list all of them
    #[arg(value_name = "SYSTEM")]
    pub system: Option<String>,
    /// Write the files below DIR. If a file already exists and differs, show the difference and stop
    #[arg(long, value_name = "DIR", requires = "system")]
    pub install: Option<PathBuf>,
    /// Remove the files that --install wrote below DIR. If a file has changed since, show the difference
    /// and remove nothing
    #[arg(long, requires = "install")]
    pub uninstall: bool,
}

/// Commands of `policy`.
#[derive(Subcommand, Debug)]
pub enum PolicyCommand {
    /// Report all errors in policies
    Check {
        /// Policy files and built-in policies [default: those that an audit would read]
        #[arg(value_name = "FILE|NAME")]
        policies: Vec<OsString>,
    },
    /// Show the merged policy, with the origin of each entry
    Show {
        /// Policy files and built-in policies [default: those that an audit would read]
        #[arg(value_name = "FILE|NAME")]
        policies: Vec<OsString>,
    },
    /// Write a first policy: a template in which all keys except `schema` are comments, or (--from)
    /// waivers for today's findings
    Init {
        /// Audit PATH, or read a JSON report of it, and waive its findings with as few entries as possible
        #[arg(long, value_name = "PATH")]
        from: Option<PathBuf>,
        /// The file to create
        #[arg(value_name = "FILE", default_value = policy::FOUND)]
        file: PathBuf,
    },
    /// Print the JSON Schema of policy files, for completion in editors
    Schema,
}

/// The values of `--color` and `--progress`: when the feature is on.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switch {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The values of `--sandbox`: when a run enters the sandbox.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sandbox {
    /// As far as the kernel supports it
    Auto,
    /// Never
    Off,
}

/// The loader whose rules apply.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoaderOption {
    /// The loader in PT_INTERP. For a library: the loader of the libc on its search path, else the
    /// system's
    Auto,
    /// The loader of glibc
    Glibc,
    /// The loader of musl
    Musl,
    /// The loader of glibc as Guix builds it
    Guix,
}

/// The linker of `--linker`, whose rules apply to a link in the order given.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkerOption {
    /// LLVM's ld.lld
    Lld,
    /// GNU ld
    Gnu,
    /// mold
    Mold,
}

/// The lowest level that makes the exit status 1.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailOn {
    /// Errors
    Error,
    /// Warnings and errors
    Warning,
    /// Nothing
    Never,
}

/// Options of all commands.
#[derive(Args, Clone, Debug)]
pub struct SharedOptions {
    /// DIR is the sysroot: absolute paths, links and caches are looked up inside it
    #[arg(long, global = true, value_name = "DIR", help_heading = sections::INPUT)]
    pub root: Option<PathBuf>,
    /// DIR is a staging directory (DESTDIR): audit its files as installed. Every lookup tries DIR
    /// first, then the system or --root. PATH may be omitted
    #[arg(long, global = true, value_name = "DIR", help_heading = sections::INPUT)]
    pub staged: Vec<PathBuf>,
    /// FILE (- is stdin) lists the paths that installing the stage removes from the system, one per
    /// line
    #[arg(long, global = true, value_name = "FILE", requires = "staged", help_heading = sections::INPUT)]
    pub replaces: Option<PathBuf>,
    /// Make paths and fingerprints relative to DIR; every PATH must be below it
    #[arg(long, global = true, value_name = "DIR", help_heading = sections::INPUT)]
    pub prefix: Option<PathBuf>,
    /// Resolve all files with the system's loader, as `ldd` does, instead of each program's PT_INTERP
    #[arg(long, global = true, help_heading = sections::LOADER)]
    pub as_ldd: bool,
    /// The loader whose rules apply
    #[arg(long, global = true, value_name = "NAME", default_value = "auto", help_heading = sections::LOADER)]
    pub loader: LoaderOption,
    /// The processor of the target: baseline, x86-64-v3, x86-64-v4, power10, z15 and so on. haswell
    /// and skylake-avx512 are Intel processors of the levels v3 and v4, for which glibc also sets
    /// $PLATFORM
    #[arg(long, global = true, value_name = "LEVEL", help_heading = sections::LOADER)]
    pub cpu: Option<String>,
    /// The directory in which the programs will start
    #[arg(long, global = true, value_name = "DIR", help_heading = sections::LOADER)]
    pub cwd: Option<PathBuf>,
    /// LD_LIBRARY_PATH at run time; it is not taken from the environment
    #[arg(long, global = true, value_name = "DIRS", help_heading = sections::LOADER)]
    pub ld_library_path: Option<OsString>,
    /// LD_PRELOAD at run time; it is not taken from the environment
    #[arg(long, global = true, value_name = "FILES", help_heading = sections::LOADER)]
    pub ld_preload: Option<OsString>,
    /// Search DIR for candidates that would fix findings; does not change resolution
    #[arg(long, global = true, value_name = "DIR", help_heading = sections::INPUT)]
    pub lib_path: Vec<PathBuf>,
    /// FILE is a host program that loads the shared objects matching GLOB [default: all shared
    /// objects that no other file needs]
    #[arg(long, global = true, value_name = "FILE[=GLOB]", conflicts_with = "as_ldd", help_heading = sections::LOADER)]
    pub host: Vec<OsString>,
    /// Do not infer the host programs of plugins from the audited files; report the undefined
    /// symbols of these plugins
    #[arg(long, global = true, help_heading = sections::LOADER)]
    pub no_inferred_hosts: bool,
    /// A policy file or built-in policy [default: linkaudit.toml in the current directory]
    #[arg(long, global = true, value_name = "FILE|NAME", help_heading = sections::FINDINGS)]
    pub policy: Vec<OsString>,
    /// Ignore linkaudit.toml in the current directory
    #[arg(long, global = true, help_heading = sections::FINDINGS)]
    pub isolated: bool,
    /// Do not report findings of this rule or group
    #[arg(short = 'A', long, global = true, value_name = "RULE|GROUP", help_heading = sections::FINDINGS)]
    pub allow: Vec<String>,
    /// Report findings of this rule or group as warnings
    #[arg(short = 'W', long, global = true, value_name = "RULE|GROUP", help_heading = sections::FINDINGS)]
    pub warn: Vec<String>,
    /// Report findings of this rule or group as errors
    #[arg(short = 'D', long, global = true, value_name = "RULE|GROUP", help_heading = sections::FINDINGS)]
    pub deny: Vec<String>,
    /// The rules and groups of `--allow`, `--warn` and `--deny` with their levels, in the order
    /// typed.
    #[arg(skip)]
    pub levels: Vec<(String, Level)>,
    /// True if a command was typed; false if `check` is only the default.
    #[arg(skip)]
    pub has_command: bool,
    /// The lowest level of findings for which the exit status is 1
    #[arg(long, global = true, value_name = "LEVEL", default_value = "error", help_heading = sections::FINDINGS)]
    pub fail_on: FailOn,
    /// Waive the findings that FILE lists
    #[arg(long, global = true, value_name = "FILE", help_heading = sections::BASELINE)]
    pub baseline: Option<PathBuf>,
    /// Write all findings to FILE; with --baseline, only remove stale lines. The exit status does
    /// not change
    #[arg(long, global = true, value_name = "FILE", help_heading = sections::BASELINE)]
    pub write_baseline: Option<PathBuf>,
    /// Exit with 1 if the baseline has stale lines: findings that no longer occur
    #[arg(long, global = true, help_heading = sections::BASELINE)]
    pub fail_on_stale: bool,
    /// Exit with 1 if the baseline has lines about files that no longer exist
    #[arg(long, global = true, help_heading = sections::BASELINE)]
    pub fail_on_gone: bool,
    /// Output on stdout: human, table, json, sarif, junit, github, gitlab, gcc, markdown, dot, ldd; tree: human, json, dot; why: human, json; gpu: human, json; archive: human, table, json; diff: human, json, table, sarif, junit, github, gitlab, gcc, markdown
    #[arg(long, global = true, value_name = "NAME", default_value = "human", help_heading = sections::OUTPUT)]
    pub format: String,
    /// Make the paths of sarif, junit, github, gitlab, gcc and markdown relative to DIR [default: the
    /// current directory]
    #[arg(long, global = true, value_name = "DIR", help_heading = sections::OUTPUT)]
    pub relative_to: Option<PathBuf>,
    /// Write the output NAME of the same run to FILE; may be repeated
    #[arg(short, long, global = true, value_name = "NAME=FILE", help_heading = sections::OUTPUT)]
    pub output: Vec<String>,
    /// Audit the paths that FILE (- is stdin) lists, one per line
    #[arg(long, global = true, value_name = "FILE", help_heading = sections::INPUT)]
    pub files_from: Option<PathBuf>,
    /// Paths in --files-from end with NUL instead of a newline
    #[arg(short = '0', long = "null", global = true, requires = "files_from", help_heading = sections::INPUT)]
    pub null: bool,
    /// Audit the store items that FILE (- is stdin) lists: output of `nix path-info --json` or
    /// `nix-store -qR`
    #[arg(long, global = true, value_name = "FILE", help_heading = sections::INPUT)]
    pub nix_closure: Option<PathBuf>,
    /// Exit with 2 if there is nothing to audit
    #[arg(long, global = true, help_heading = sections::INPUT)]
    pub require_elf: bool,
    /// Read every file again with independent parsers, and report differences
    #[arg(long, global = true, help_heading = sections::FINDINGS)]
    pub cross_check: bool,
    /// Add all exports with their versions, and all bindings, to the JSON report
    #[arg(long, global = true, help_heading = sections::OUTPUT)]
    pub facts: bool,
    /// The number of threads
    #[arg(short = 'j', long = "jobs", global = true, value_name = "N", value_parser = jobs, help_heading = sections::RUN)]
    pub jobs: Option<NonZeroUsize>,
    /// Show only the totals. `check` and `diff` also list the causes that fail the run or make it
    /// incomplete
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = sections::OUTPUT)]
    pub quiet: bool,
    /// Show everything
    #[arg(short, long, global = true, help_heading = sections::OUTPUT)]
    pub verbose: bool,
    /// Use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = sections::OUTPUT)]
    pub color: Switch,
    /// Show a progress line on stderr if a run takes longer than a second
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = sections::OUTPUT)]
    pub progress: Switch,
    /// Before reading files, drop the rights to start programs, to open connections and to write outside
    /// the output directories (Landlock, seccomp)
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = sections::RUN)]
    pub sandbox: Sandbox,
    /// Print the time of each stage on stderr
    #[arg(long, global = true, help_heading = sections::RUN)]
    pub timings: bool,
    /// Bind every module again under every entry point; tests compare this with reused answers
    #[arg(long, global = true, hide = true)]
    pub no_reuse: bool,
}

impl SharedOptions {
    /// The files that the run writes: those of `--output` and `--write-baseline`, and `more`, the
    /// output files of command-specific options, such as `--why-extract`.
    fn written<'a>(&'a self, more: &'a [&'a Path]) -> impl Iterator<Item = &'a Path> {
        let outputs =
            self.output.iter().filter_map(|pair| Some(Path::new(pair.split_once('=')?.1)));
        outputs.chain(self.write_baseline.as_deref()).chain(more.iter().copied())
    }

    /// True if files of any kind are accepted: with `--as-ldd`, or if an output is `ldd`.
    fn answers_any_file(&self) -> bool {
        let names = self.output.iter().filter_map(|pair| pair.split('=').next());
        self.as_ldd || names.chain([&*self.format]).any(|name| name == "ldd")
    }
}
