//! The options of `archive`.

use super::LinkerOption;
use super::link_line::{LeftOut, Typed};
use crate::cover::{LinkOutput, Linker, OutputKind};
use anyhow::{Result, bail};
use clap::{ArgAction, Args};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Options of `archive`.
#[derive(Args, Debug)]
pub struct ArchiveOptions {
    /// Static archives to link; with --linker or --order also objects and shared objects. @FILE is
    /// replaced by the arguments in FILE
    #[arg(value_name = "ARCHIVE")]
    pub archives: Vec<PathBuf>,
    /// Search DIR for archives that the link may add
    #[arg(long, value_name = "DIR")]
    pub from: Vec<PathBuf>,
    /// More archives and objects; links all files in the order given, by the rules of --linker
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub order: Option<Vec<PathBuf>>,
    /// Link all files in the order given, by the rules of this linker. --order, and options of a
    /// linker such as --start-lib, imply --linker lld. Otherwise the order does not matter
    #[arg(long, value_enum, value_name = "LINKER")]
    pub linker: Option<LinkerOption>,
    /// Treat the objects after this option as archive members, up to --end-lib
    #[arg(long, num_args = 0, default_missing_value = "yes", action = ArgAction::Append)]
    pub start_lib: Vec<String>,
    /// End --start-lib
    #[arg(long, num_args = 0, default_missing_value = "yes", action = ArgAction::Append)]
    pub end_lib: Vec<String>,
    /// Link all members of the archives after this option
    #[arg(long, num_args = 0, default_missing_value = "yes", action = ArgAction::Append)]
    pub whole_archive: Vec<String>,
    /// End --whole-archive
    #[arg(long, num_args = 0, default_missing_value = "yes", action = ArgAction::Append)]
    pub no_whole_archive: Vec<String>,
    /// Repeatedly search the archives after this option, up to --end-group (GNU ld)
    #[arg(long, num_args = 0, default_missing_value = "yes", action = ArgAction::Append)]
    pub start_group: Vec<String>,
    /// End --start-group
    #[arg(long, num_args = 0, default_missing_value = "yes", action = ArgAction::Append)]
    pub end_group: Vec<String>,
    /// Let GNU ld drop each shared library after this option to which no earlier object refers
    #[arg(long, num_args = 0, default_missing_value = "yes", action = ArgAction::Append)]
    pub as_needed: Vec<String>,
    /// End --as-needed
    #[arg(long, num_args = 0, default_missing_value = "yes", action = ArgAction::Append)]
    pub no_as_needed: Vec<String>,
    /// Find only archives for each -l after this option; -static means the same
    #[arg(long = "Bstatic", num_args = 0, default_missing_value = "yes", action = ArgAction::Append)]
    pub static_libraries: Vec<String>,
    /// End -Bstatic
    #[arg(long = "Bdynamic", num_args = 0, default_missing_value = "yes", action = ArgAction::Append)]
    pub shared_libraries: Vec<String>,
    /// Save the state of --as-needed, --whole-archive and -Bstatic
    #[arg(long, num_args = 0, default_missing_value = "yes", action = ArgAction::Append)]
    pub push_state: Vec<String>,
    /// Restore the state that --push-state saved
    #[arg(long, num_args = 0, default_missing_value = "yes", action = ArgAction::Append)]
    pub pop_state: Vec<String>,
    /// Link libNAME.so or libNAME.a from the first -L directory that has one of them. -l :FILE links
    /// the file named FILE
    #[arg(short = 'l', long, value_name = "NAME")]
    pub library: Vec<OsString>,
    /// Search DIR for the libraries of -l; no other directory is searched
    #[arg(short = 'L', long, value_name = "DIR")]
    pub library_path: Vec<PathBuf>,
    /// Start at the symbol NAME instead of _start. If -e is repeated, the last one takes effect
    #[arg(short = 'e', long, value_name = "NAME")]
    pub entry: Vec<OsString>,
    /// Extract the member that defines NAME; NAME may stay undefined
    #[arg(short = 'u', long, value_name = "NAME")]
    pub undefined: Vec<OsString>,
    /// Define a symbol by an expression
    #[arg(long, value_name = "NAME=EXPRESSION")]
    pub defsym: Vec<OsString>,
    /// Resolve references to NAME to __wrap_NAME, and references to __real_NAME to NAME
    #[arg(long, value_name = "NAME")]
    pub wrap: Vec<OsString>,
    /// The files and options of the link, in the order typed.
    #[arg(skip)]
    pub typed: Vec<Typed>,
    /// The response files (`@FILE`) of the command line that were read.
    #[arg(skip)]
    pub response_files: Vec<PathBuf>,
    /// The linker options that were removed from the command line before clap parsed it.
    #[arg(skip)]
    pub left_out: LeftOut,
    /// An object to link: a shared library, a program or a relocatable object
    #[arg(long, value_name = "FILE")]
    pub root_object: Vec<PathBuf>,
    /// A symbol that the archives must define
    #[arg(long, value_name = "NAME")]
    pub root_symbol: Vec<OsString>,
    /// Link a shared object: linkers define fewer symbols for it than for a program
    #[arg(long, conflicts_with = "pie")]
    pub shared: bool,
    /// Link a position-independent program
    #[arg(long)]
    pub pie: bool,
    /// Drop sections to which nothing refers, with their undefined symbols
    #[arg(long)]
    pub gc_sections: bool,
    /// With --gc-sections, keep the exported symbols of a program too
    #[arg(long)]
    pub export_dynamic: bool,
    /// Do not report undefined symbols of the shared objects that a program is linked with
    #[arg(long)]
    pub allow_shlib_undefined: bool,
    /// List the archives below DIR with undefined symbols that no file in DIR or --from defines
    #[arg(
        long = "self",
        value_name = "DIR",
        conflicts_with_all = [
            "archives", "order", "linker", "start_lib", "end_lib", "whole_archive", "no_whole_archive",
            "start_group", "end_group", "as_needed", "no_as_needed", "static_libraries",
            "shared_libraries", "push_state", "pop_state", "library", "library_path", "entry", "undefined", "defsym", "wrap",
            "root_object", "root_symbol", "all_members", "why_extract", "archive_stats", "gc_sections",
            "allow_shlib_undefined", "export_dynamic",
        ]
    )]
    pub self_dirs: Vec<PathBuf>,
    /// Look for definitions of the references of every member; undefined symbols are not errors
    #[arg(long)]
    pub all_members: bool,
    /// Write which member was extracted for which symbol, in the format of lld with
    /// --no-demangle; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub why_extract: Option<PathBuf>,
    /// Write how many members of each archive were extracted, in lld's format; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub archive_stats: Option<PathBuf>,
}

impl LinkerOption {
    /// The linker whose rules apply.
    pub(super) fn linker(self) -> Linker {
        match self {
            Self::Lld => Linker::Lld,
            Self::Gnu => Linker::Gnu,
            Self::Mold => Linker::Mold,
        }
    }
}

impl ArchiveOptions {
    /// The directories of `-L`. In lld and GNU ld, a leading `=` means the sysroot, which is the
    /// root of the tree.
    pub(super) fn library_dirs(&self) -> Vec<PathBuf> {
        let is_mold = self.linker == Some(LinkerOption::Mold);
        let dir = |dir: &PathBuf| {
            let below = dir.as_os_str().as_bytes().strip_prefix(b"=").filter(|_| !is_mold);
            below.map_or_else(|| dir.clone(), |below| OsStr::from_bytes(below).into())
        };
        self.library_path.iter().map(dir).collect()
    }

    /// The kind of output file, and the linker of `--linker`. With `--linker`, the inputs are
    /// assumed to include the start files of the compiler.
    pub(super) fn output(&self) -> LinkOutput {
        let kind = match (self.shared, self.pie) {
            (true, _) => OutputKind::Shared,
            (false, true) => OutputKind::Pie,
            (false, false) => OutputKind::Any,
        };
        LinkOutput {
            kind,
            linker: self.linker.map(LinkerOption::linker),
            has_start_files: self.linker.is_some(),
        }
    }

    /// Refuses a table of lld on stdout if the answer there is for programs.
    pub(super) fn refuse_tables_on_stdout(&self, format: &str) -> Result<()> {
        let tables =
            [("--why-extract", &self.why_extract), ("--archive-stats", &self.archive_stats)];
        let is_on_stdout = |file: &Option<PathBuf>| file.as_deref().is_some_and(is_stdout);
        match tables.into_iter().find(|(_, file)| format != "human" && is_on_stdout(file)) {
            Some((option, _)) => {
                bail!("{option} -: stdout has the format {format}\nhelp: name a file for the table")
            }
            None => Ok(()),
        }
    }
}

/// True for `-`, which lld writes to stdout.
pub(super) fn is_stdout(file: &Path) -> bool {
    file == Path::new("-")
}
