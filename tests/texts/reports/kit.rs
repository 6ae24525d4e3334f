//! A sysroot made byte by byte, an audit of it, and its report rendered for a width.

use super::tiny::Tiny;
use crate::support::{self, Lab};
use linkaudit::report::{self, Paths, Rendering, Report, Style, json};

/// The system's loader and its directories.
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
const STRINGS: &[u8] =
    b"\0/lib/x86_64-linux-gnu/\0/usr/lib/x86_64-linux-gnu/\0/lib/\0/usr/lib/\0\0\
    ORIGIN\0PLATFORM\0LIB\0lib/x86_64-linux-gnu\0/etc/ld.so.cache\0\
    ld.so (Debian GLIBC 2.36-9) stable release version 2.36.\n\0";

/// A sysroot, and the arguments of an audit of it.
pub(crate) struct Situation {
    lab: Lab,
    args: Vec<String>,
}

impl Situation {
    /// A system with only a loader and a libc. `args` are split at blanks.
    pub(crate) fn new(args: &str) -> Self {
        let situation =
            Self { lab: Lab::new(), args: args.split(' ').map(str::to_owned).collect() };
        let loader = Tiny::library("ld-linux-x86-64.so.2", Vec::<String>::new());
        situation.write(LOADER, [&loader.bytes()[..], STRINGS].concat());
        let libc = Tiny::library("libc.so.6", ["ld-linux-x86-64.so.2"]).defines("malloc");
        situation.write("/lib/x86_64-linux-gnu/libc.so.6", libc.bytes());
        situation
    }

    /// Writes a file at an absolute path of the sysroot.
    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Self {
        self.lab.write(&format!("r{path}"), bytes);
        self
    }

    /// A shared object that needs libc and `needs`, and refers to `refers`.
    pub(crate) fn so(&self, path: &str, needs: &[&str], refers: &[&str]) -> &Self {
        self.write(path, object(path, needs, refers).bytes())
    }

    /// Writes a file beside the sysroot, for options.
    pub(crate) fn beside(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        self.lab.write(name, bytes);
        self
    }

    /// The report, read back from JSON, with `/home/audit` for the laboratory.
    pub(crate) fn report(&self) -> Report {
        let output = support::linkaudit()
            .current_dir(self.lab.root())
            .args(["--root", "r", "--cpu", "baseline", "--format", "json"])
            .args(&self.args)
            .output()
            .expect("linkaudit runs");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.is_empty(), "stderr: {error}");
        let text = String::from_utf8(output.stdout).expect("JSON is UTF-8");
        let here = self.lab.root();
        let text = text.replace(here.to_str().expect("a path in UTF-8"), "/home/audit");
        json::read(text.as_bytes()).expect("a report")
    }
}

/// The contents of [`Situation::so`].
pub(crate) fn object(path: &str, needs: &[&str], refers: &[&str]) -> Tiny {
    let base = path.rsplit('/').next().unwrap_or(path);
    let object = Tiny::library(base, needs.iter().copied().chain(["libc.so.6"]));
    refers.iter().fold(object, |object, name| object.refers(name))
}

/// A program that needs libc and `needs`, and refers to `refers`.
pub(crate) fn program(needs: &[&str], refers: &[&str]) -> Tiny {
    Tiny { soname: None, interp: Some(LOADER), ..object("", needs, refers) }
}

/// A report in one format.
pub(crate) fn rendered(report: &Report, format: &str, style: Style) -> String {
    rendered_of(report, format, style, &Paths::default())
}

/// A report in one format about a system at `paths`.
pub(crate) fn rendered_of(report: &Report, format: &str, style: Style, paths: &Paths) -> String {
    let mut out = Vec::new();
    let how = Rendering { style, paths, facts: None };
    report::render(format, report, &how, &mut out).expect("a vector takes all");
    String::from_utf8(out).expect("text in UTF-8")
}

/// Columns of the widest line.
pub(crate) fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}
