//! Code that the rules about single entries of search paths share. It finds the libraries that the
//! loader takes through an entry, recognises unsafe entries, and makes the finding. This module is
//! not a rule.

use super::query::Query;
use crate::audit::{EntryState, SearchEntries, SearchEntry};
use crate::catalogue::RuleId;
use crate::finding::Finding;
use crate::id::FileId;
use crate::resolve::Closure;
use crate::text::{show, show_path};
use crate::tree::without_dots;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Directories of builds and of individual users.
const BUILD: [&str; 16] = [
    "/tmp",
    "/var/tmp",
    "/home",
    "/root",
    // Debian's sbuild and Arch's makechrootpkg.
    "/build",
    // Fedora's mock and Void's xbps-src.
    "/builddir",
    "/usr/src",
    "/nix/build",
    // GitLab CI in containers.
    "/builds",
    // GitHub Actions: jobs in containers, and actions that are containers.
    "/__w",
    "/github/workspace",
    // Jenkins: its packages, and its container.
    "/var/lib/jenkins",
    "/var/jenkins_home",
    "/var/lib/buildkite-agent",
    "/drone/src",
    // Bitbucket Pipelines.
    "/opt/atlassian/pipelines",
];
/// Other names of the current directory.
const CURRENT: [&str; 2] = ["/proc/self/cwd", "/proc/thread-self/cwd"];
/// Directories of installed packages. A current directory below one of them is not a build
/// directory.
const PACKAGES: [&str; 9] =
    ["/usr", "/opt", "/lib", "/lib64", "/bin", "/sbin", "/srv", "/nix/store", "/gnu/store"];
/// Maximum number of libraries that are listed for one entry.
const MOST: usize = 3;

impl Query<'_> {
    /// The needed names that the loader finds in the directory of an entry, under any entry point.
    pub(super) fn found_through(&self, of: &SearchEntries, entry: &SearchEntry) -> Vec<String> {
        let closure = self.closure(of.site.root);
        let found = of.found.iter().map(|(name, path)| (self.text(*name), self.text(*path)));
        let mut names: Vec<String> = found
            .filter(|(name, path)| {
                let directory = path.strip_suffix(*name);
                let directory = directory.map(|path| Path::new(OsStr::from_bytes(path)));
                directory.is_some_and(|directory| self.is_searched(closure, entry, directory))
            })
            .map(|(name, _)| show(name))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// True if `directory` is the entry's directory, or one of its subdirectories that the loader
    /// also searches.
    fn is_searched(&self, closure: &Closure, entry: &SearchEntry, directory: &Path) -> bool {
        let subdirs = self.loader(closure).subdirs.iter().map(|subdir| self.text(*subdir));
        entry.directory == directory
            || subdirs
                .map(|subdir| entry.directory.join(OsStr::from_bytes(subdir)))
                .any(|subdir| subdir == directory)
    }

    /// The names of [`Self::found_through`] as a clause: `liba.so.1, libb.so.2 are found there`.
    pub(super) fn what_is_found(&self, of: &SearchEntries, entry: &SearchEntry) -> String {
        let names = self.found_through(of, entry);
        match &names[..] {
            [] => "no library is found there".to_owned(),
            [name] => format!("{name} is found there"),
            names if names.len() <= MOST => format!("{} are found there", names.join(", ")),
            names => {
                let more = names.len() - MOST;
                format!("{} and {more} more are found there", names[..MOST].join(", "))
            }
        }
    }

    /// The entry in words: the tag, the text, and the directory if it differs from the text.
    pub(super) fn entry_text(&self, file: FileId, entry: &SearchEntry) -> String {
        let object = self.facts(file).object();
        let is_runpath = object.is_some_and(|object| object.runpath.is_some());
        let tag = if is_runpath { "DT_RUNPATH" } else { "DT_RPATH" };
        let text = show(&entry.text);
        if entry.text.is_empty() {
            format!("{tag} has an empty entry")
        } else if entry.directory.as_os_str().as_bytes() == entry.text {
            format!("{tag} entry {text}")
        } else {
            format!("{tag} entry {text} ({})", show_path(&entry.directory))
        }
    }

    /// A finding of `rule` about one entry of the search path of `file`.
    pub(super) fn about_entry(
        &self,
        rule: RuleId,
        file: FileId,
        entry: &SearchEntry,
        message: String,
    ) -> Box<Finding> {
        let mut finding = self.about(rule, file, message);
        finding.detail = Some(entry.text.clone());
        let file = self.quoted(file);
        finding.witness = file.map(|file| format!("readelf -d {file} | grep -E 'RPATH|RUNPATH'"));
        finding
    }

    /// The reason why an entry is unsafe; `None` for a safe entry.
    pub(super) fn unsafe_reason(&self, file: FileId, entry: &SearchEntry) -> Option<String> {
        // A path relative to `$ORIGIN` moves with its prefix.
        let moves = entry.is_of_origin;
        if entry.state == EntryState::Ignored {
            return None;
        }
        if entry.text.is_empty() {
            return Some("the current directory".to_owned());
        }
        if !entry.directory.is_absolute() {
            return (!moves).then(|| "relative to the current directory".to_owned());
        }
        if CURRENT.iter().any(|current| entry.directory.starts_with(current)) {
            return Some("relative to the current directory".to_owned());
        }
        let located = self.locate(file);
        let prefix = located.prefix.as_deref();
        if moves && prefix.is_none_or(|prefix| entry.is_inside(prefix)) {
            return None;
        }
        let directory = without_dots(&entry.directory);
        let has_prefix = |base: &Path| prefix.is_some_and(|prefix| prefix.starts_with(base));
        let is_inside = prefix.is_some_and(|prefix| directory.starts_with(prefix));
        let is_own = |base: &Path| has_prefix(base) && (moves || is_inside);
        let writable = entry.writable.as_deref();
        if let Some(writable) = writable.filter(|base| !is_own(&without_dots(base))) {
            let is_it = writable == entry.directory;
            let place = if is_it { "it".to_owned() } else { show_path(writable) };
            return Some(format!("every user may write to {place}"));
        }
        let mut bases = BUILD.iter().map(Path::new);
        if let Some(base) = bases.find(|base| directory.starts_with(base) && !is_own(base)) {
            let is_it = *directory == *base;
            let below = || format!("below {}", show_path(base));
            return Some(if is_it { "a directory for builds".to_owned() } else { below() });
        }
        // A link into a build or home directory is accepted if the prefix is in the same directory.
        let leads = |path: &PathBuf| {
            let path = without_dots(path);
            let mut bases = BUILD.iter().map(Path::new);
            let base = bases.find(|base| path.starts_with(base) && !has_prefix(base))?;
            Some(format!("leads to {}, below {}", show_path(&path), show_path(base)))
        };
        if let Some(reason) = entry.links.iter().find_map(leads) {
            return Some(reason);
        }
        let cwd = self.build_directory().filter(|cwd| !moves && directory.starts_with(cwd))?;
        let holds_cwd = prefix.is_some_and(|prefix| cwd.starts_with(prefix));
        (!holds_cwd && !is_own(cwd)).then(|| "below the current directory".to_owned())
    }

    /// The current directory, if it may be a build directory. Users often audit a package from its
    /// build directory.
    fn build_directory(&self) -> Option<&Path> {
        let plan = self.plan();
        let cwd = Some(&*plan.cwd).filter(|_| !plan.has_root && !plan.cwd_stated)?;
        let is_installed = PACKAGES.iter().any(|base| cwd.starts_with(base));
        (cwd.parent().is_some() && !is_installed).then_some(cwd)
    }
}
