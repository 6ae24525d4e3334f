//! The command line: what may be typed. Nothing is opened or decided here; `plan` turns it into a
//! [`crate::plan::Plan`], `commands` carries a command out, `out` is the one place that writes.

mod apart;
mod archive;
mod baseline;
mod check;
mod closure;
pub mod commands;
mod demo;
pub mod exit;
mod explain;
mod fix;
mod hosts;
mod lists;
mod manual;
mod named;
mod out;
mod place;
mod plan;
mod policy;
mod progress;
mod refused;
mod run;
mod sandbox;
mod scripts;
mod sections;
mod threads;
mod views;

use crate::catalogue::Level;
use clap::{
    ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Audits the linkage of an install prefix the way the dynamic loader will see it.
#[derive(Parser, Debug)]
#[command(
    name = "linkaudit",
    version,
    about,
    after_help = "`check` is the default command. A path named like a command is written ./check.\n\
                  Exit status: 0 nothing at or above --fail-on, 1 findings, 2 usage, \
                  3 the audit is incomplete, 70 a fault of linkaudit."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of all commands.
    #[command(flatten)]
    pub shared: Shared,
    /// Directories and files to audit
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
}

impl Cli {
    /// Parses the command line of this process.
    pub fn from_process() -> Result<Self, clap::Error> {
        let matches = shown().try_get_matches()?;
        let mut cli = Self::from_arg_matches(&matches)?;
        cli.shared.levels = levels(&matches);
        Ok(cli)
    }
}

/// The command line as help shows it.
fn shown() -> clap::Command {
    sections::apply(Cli::command())
}

/// Settings of levels in the order in which they were typed; lists are separated by commas.
fn levels(matches: &ArgMatches) -> Vec<(String, Level)> {
    let options = [("allow", Level::Allow), ("warn", Level::Warning), ("deny", Level::Error)];
    let mut found: Vec<(usize, &String, Level)> = Vec::new();
    for (id, level) in options {
        let indices = matches.indices_of(id).into_iter().flatten();
        let values = matches.get_many::<String>(id).into_iter().flatten();
        found.extend(indices.zip(values).map(|(index, value)| (index, value, level)));
    }
    found.sort_unstable_by_key(|(index, ..)| *index);
    let names = |(_, value, level): (usize, &String, Level)| {
        value.split(',').map(move |name| (name.to_owned(), level)).collect::<Vec<_>>()
    };
    found.into_iter().flat_map(names).collect()
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
    /// Show what every root loads, as a graph printed once
    Tree {
        /// Directories and files whose roots are shown
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Show who needs or refers to a library or symbol, who provides it, and what was tried
    Why(WhyOptions),
    /// Show which members of static archives are needed, for which symbol, and what stays undefined
    Archive(ArchiveOptions),
    /// Write what would make findings go away: lists of archives, scripts, flags, waivers
    Fix(FixOptions),
    /// Check, show and begin policies
    Policy {
        /// What to do with them
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Write the case this tool was made for, in miniature, and audit it
    Demo {
        /// A directory that is not there yet
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Show the page of a rule, or the table of all rules
    Explain {
        /// The rule's id
        rule: Option<String>,
    },
    /// Print the manual page
    Man {
        /// Write the pages of all commands to DIR/man1 instead
        #[arg(long, value_name = "DIR")]
        install: Option<PathBuf>,
    },
    /// Print a script that completes options in a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// The question of `why`, and the files it is about.
#[derive(Args, Debug)]
pub struct WhyOptions {
    /// A library's soname or file, or a symbol: its raw name, with a version or without (foo@V_1), or
    /// its name in C++ or Rust, which may lack namespaces and parameters (Shape::id)
    #[arg(value_name = "NAME")]
    pub name: OsString,
    /// Directories and files to look through
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Answer for this entry point alone, a path or file name: how it loads the library, or which
    /// files are searched for the symbol
    #[arg(long, value_name = "ENTRY")]
    pub under: Option<PathBuf>,
}

/// What `archive` is asked.
#[derive(Args, Debug)]
pub struct ArchiveOptions {
    /// Static archives that are linked
    #[arg(value_name = "ARCHIVE")]
    pub archives: Vec<PathBuf>,
    /// Look here for archives that may be added
    #[arg(long, value_name = "DIR")]
    pub from: Vec<PathBuf>,
    /// These archives follow, and the order counts as it does for lld
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub order: Option<Vec<PathBuf>>,
    /// What is linked: a shared library, a program or a relocatable object
    #[arg(long, value_name = "FILE")]
    pub root_object: Vec<PathBuf>,
    /// A symbol that must be defined
    #[arg(long, value_name = "NAME")]
    pub root_symbol: Vec<OsString>,
    /// List what every member refers to; nothing of that is an error
    #[arg(long)]
    pub all_members: bool,
    /// Write what was taken for which symbol, as lld does
    #[arg(long, value_name = "FILE", requires = "order")]
    pub why_extract: Option<PathBuf>,
    /// Write how many members of each archive were taken, as lld does
    #[arg(long, value_name = "FILE", requires = "order")]
    pub archive_stats: Option<PathBuf>,
}

/// What `fix` is asked.
#[derive(Args, Debug)]
pub struct FixOptions {
    /// Directories and files to audit
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// What to write: cmake-deps, mri, ldflags, policy-waivers; to stdout unless -o NAME=FILE says where
    #[arg(long, value_name = "NAME")]
    pub emit: Vec<String>,
    /// The archive that is merged from others, if it cannot be told from what --lib-path holds
    #[arg(long, value_name = "FILE")]
    pub archive: Option<PathBuf>,
    /// The list of the archives it is merged from
    #[arg(long, value_name = "FILE")]
    pub deps_list: Option<PathBuf>,
    /// Names that nothing needs leave the list
    #[arg(long, requires = "deps_list")]
    pub minimal: bool,
}

/// Commands of `policy`.
#[derive(Subcommand, Debug)]
pub enum PolicyCommand {
    /// Say what is wrong with policies, and which rules they name that are not built yet
    Check {
        /// Policy files and built-in policies; without one, those that an audit would read
        #[arg(value_name = "FILE|NAME")]
        policies: Vec<OsString>,
    },
    /// Show what policies come to when they are merged, and where each entry came from
    Show {
        /// Policy files and built-in policies; without one, those that an audit would read
        #[arg(value_name = "FILE|NAME")]
        policies: Vec<OsString>,
    },
    /// Write a policy to begin with, in which everything is a comment
    Init {
        /// The file, which must not be there yet
        #[arg(value_name = "FILE", default_value = policy::FOUND)]
        file: PathBuf,
    },
    /// Print the JSON Schema of policy files, from which editors complete
    Schema,
}

/// When something is on.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switch {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Whether the sandbox is used.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sandbox {
    /// As far as the kernel has it
    Auto,
    /// Never
    Off,
}

/// Whose loader rules hold.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loader {
    /// Those of PT_INTERP, or of the libc beside a library
    Auto,
    /// The GNU C library's
    Glibc,
    /// musl's
    Musl,
    /// Guix's GNU C library
    Guix,
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
#[derive(Args, Debug)]
pub struct Shared {
    /// DIR is the root of another system: paths, links and caches are taken inside it
    #[arg(long, global = true, value_name = "DIR", help_heading = sections::INPUT)]
    pub root: Option<PathBuf>,
    /// DIR is a staging directory (DESTDIR): its files are audited at the paths they will have, and
    /// every lookup sees DIR first, then the system or --root. No PATH is needed
    #[arg(long, global = true, value_name = "DIR", help_heading = sections::INPUT)]
    pub staged: Vec<PathBuf>,
    /// FILE (- is stdin) lists installed paths, one a line, that the installation of the stage removes
    #[arg(long, global = true, value_name = "FILE", requires = "staged", help_heading = sections::INPUT)]
    pub replaces: Option<PathBuf>,
    /// Make paths and fingerprints relative to DIR, for any PATHs below it
    #[arg(long, global = true, value_name = "DIR", help_heading = sections::INPUT)]
    pub prefix: Option<PathBuf>,
    /// Resolve as `ldd` run by the system's loader would, not as each program's own PT_INTERP
    #[arg(long, global = true, help_heading = sections::LOADER)]
    pub as_ldd: bool,
    /// Whose loader rules hold; auto reads them from PT_INTERP and the libc beside it
    #[arg(long, global = true, value_name = "NAME", default_value = "auto", help_heading = sections::LOADER)]
    pub loader: Loader,
    /// The processor that will run the files: x86-64-v3, x86-64-v4, haswell or skylake-avx512 (the
    /// same levels by Intel, with its $PLATFORM), power10, z15, ..., or baseline
    #[arg(long, global = true, value_name = "LEVEL", help_heading = sections::LOADER)]
    pub cpu: Option<String>,
    /// The directory in which programs will be started
    #[arg(long, global = true, value_name = "DIR", help_heading = sections::LOADER)]
    pub cwd: Option<PathBuf>,
    /// What LD_LIBRARY_PATH will be at run time; the environment is never read
    #[arg(long, global = true, value_name = "DIRS", help_heading = sections::LOADER)]
    pub ld_library_path: Option<OsString>,
    /// What LD_PRELOAD will be at run time; the environment is never read
    #[arg(long, global = true, value_name = "FILES", help_heading = sections::LOADER)]
    pub ld_preload: Option<OsString>,
    /// Look for providers here too when a fix is proposed; never changes resolution
    #[arg(long, global = true, value_name = "DIR", help_heading = sections::INPUT)]
    pub lib_path: Vec<PathBuf>,
    /// Shared objects that match GLOB (else: that nothing else needs) are loaded by this program
    #[arg(long, global = true, value_name = "FILE[=GLOB]", conflicts_with = "as_ldd", help_heading = sections::LOADER)]
    pub host: Vec<OsString>,
    /// Report what a plugin takes from a program that --host does not name; without this option,
    /// such a program is inferred from the audited files
    #[arg(long, global = true, help_heading = sections::LOADER)]
    pub no_inferred_hosts: bool,
    /// A policy file or built-in policy; without one, linkaudit.toml of the current directory
    #[arg(long, global = true, value_name = "FILE|NAME", help_heading = sections::FINDINGS)]
    pub policy: Vec<OsString>,
    /// Do not look for linkaudit.toml in the current directory
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
    /// The three lists in the order in which they were typed.
    #[arg(skip)]
    pub levels: Vec<(String, Level)>,
    /// Lowest level that makes the exit status 1
    #[arg(long, global = true, value_name = "LEVEL", default_value = "error", help_heading = sections::FINDINGS)]
    pub fail_on: FailOn,
    /// Waive the findings that FILE lists
    #[arg(long, global = true, value_name = "FILE", help_heading = sections::BASELINE)]
    pub baseline: Option<PathBuf>,
    /// Write all findings to FILE; with --baseline only take out what is not found any more. The
    /// exit status stays that of the findings
    #[arg(long, global = true, value_name = "FILE", help_heading = sections::BASELINE)]
    pub write_baseline: Option<PathBuf>,
    /// Exit with 1 if the baseline lists what is not found any more
    #[arg(long, global = true, requires = "baseline", help_heading = sections::BASELINE)]
    pub fail_on_stale: bool,
    /// Exit with 1 if the baseline lists findings in a file that is not there any more
    #[arg(long, global = true, requires = "baseline", help_heading = sections::BASELINE)]
    pub fail_on_gone: bool,
    /// Output on stdout: human, table, json, ldd; tree: human, json, dot; why: human, json; archive: human, table, json
    #[arg(long, global = true, value_name = "NAME", default_value = "human", help_heading = sections::OUTPUT)]
    pub format: String,
    /// A further output of the same run, written to FILE
    #[arg(short, long, global = true, value_name = "NAME=FILE", help_heading = sections::OUTPUT)]
    pub output: Vec<String>,
    /// Audit the paths that FILE (- is stdin) lists, one a line
    #[arg(long, global = true, value_name = "FILE", help_heading = sections::INPUT)]
    pub files_from: Option<PathBuf>,
    /// Paths of --files-from end with NUL, not with a newline
    #[arg(short = '0', long = "null", global = true, requires = "files_from", help_heading = sections::INPUT)]
    pub null: bool,
    /// Audit the store items that FILE (- is stdin) lists: output of `nix path-info --json` or
    /// `nix-store -qR`
    #[arg(long, global = true, value_name = "FILE", help_heading = sections::INPUT)]
    pub nix_closure: Option<PathBuf>,
    /// Exit with 2 if there is nothing to audit
    #[arg(long, global = true, help_heading = sections::INPUT)]
    pub require_elf: bool,
    /// Read again with second, independent parsers; a difference is a finding
    #[arg(long, global = true, help_heading = sections::FINDINGS)]
    pub cross_check: bool,
    /// JSON also holds exports with versions and all bindings
    #[arg(long, global = true, help_heading = sections::OUTPUT)]
    pub facts: bool,
    /// Threads that work
    #[arg(short = 'j', long = "jobs", global = true, value_name = "N", help_heading = sections::RUN)]
    pub jobs: Option<std::num::NonZeroUsize>,
    /// Show errors and the summary only
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = sections::OUTPUT)]
    pub quiet: bool,
    /// Show everything
    #[arg(short, long, global = true, help_heading = sections::OUTPUT)]
    pub verbose: bool,
    /// Colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = sections::OUTPUT)]
    pub color: Switch,
    /// A progress line on stderr when a run takes longer than a second
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = sections::OUTPUT)]
    pub progress: Switch,
    /// Before files are read, give up the rights to start programs, to open connections and to write
    /// outside of the directories of the outputs, with Landlock and seccomp
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = sections::RUN)]
    pub sandbox: Sandbox,
    /// Print how long each stage took on stderr
    #[arg(long, global = true, help_heading = sections::RUN)]
    pub timings: bool,
    /// Bind every module anew under every root; for tests of the reuse of answers
    #[arg(long, global = true, hide = true)]
    pub no_reuse: bool,
}

impl Shared {
    /// Files that are written. `more` are those that options of one command name.
    fn written<'a>(&'a self, more: &'a [&'a Path]) -> impl Iterator<Item = &'a Path> {
        let outputs =
            self.output.iter().filter_map(|pair| Some(Path::new(pair.split_once('=')?.1)));
        outputs.chain(self.write_baseline.as_deref()).chain(more.iter().copied())
    }

    /// True if an output has an answer for files of any kind, as `ldd` has.
    fn answers_any_file(&self) -> bool {
        let names = self.output.iter().filter_map(|pair| pair.split('=').next());
        self.as_ldd || names.chain([&*self.format]).any(|name| name == "ldd")
    }
}
