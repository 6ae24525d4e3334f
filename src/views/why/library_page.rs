//! The page of a library: the files with its name, then the files that need it. Of these, the
//! files for which it is not found come first.

use super::elsewhere::Copy;
use super::human::{Cell, WhyPage, column};
use super::library::{self, LibraryAnswer};
use crate::id::{FileId, RootId};
use crate::order;
use crate::order::Arrange as _;
use crate::report::layout::{name as glued, painted};
use crate::resolve::FoundBy;
use crate::resolve::trace::Tried;
use crate::rules::tried_in_words;
use crate::text::show;
use crate::views::count;
use std::collections::BTreeSet;
use std::io;

impl WhyPage<'_> {
    pub(super) fn library(
        &mut self,
        name: &[u8],
        library: &LibraryAnswer,
        under: Option<&str>,
    ) -> io::Result<()> {
        let LibraryAnswer { providers, requesters, programs, copies } = library;
        if !self.style.quiet {
            if !providers.is_empty() {
                self.heading("files of this name")?;
                for provider in providers.iter().take(self.most()) {
                    self.library_provider(provider)?;
                }
                self.more(providers.len())?;
            }
            if !copies.is_empty() {
                self.heading("other files of the library in the process")?;
                for copy in copies.iter().take(self.most()) {
                    self.copy(copy)?;
                }
                self.more(copies.len())?;
            }
            if !programs.is_empty() {
                self.heading(&format!("the interpreter of {}", roots_in_words(programs.len())))?;
            }
            if !requesters.is_empty() {
                self.heading("needed by")?;
                // Files that lack the library come first.
                let mut sorted: Vec<&library::LibraryRequester> = requesters.iter().collect();
                sorted.arrange_by_key(|requester| !requester.is_missing());
                let paths = sorted.iter().take(self.most()).map(|r| self.path(r.file));
                let column = column(self.style, paths);
                for requester in sorted.into_iter().take(self.most()) {
                    self.library_requester(requester, column)?;
                }
                self.more(requesters.len())?;
            }
            writeln!(self.out)?;
        }
        let missing = requesters.iter().filter(|requester| requester.is_missing()).count();
        let files = requesters.iter().map(|requester| requester.file);
        let files: BTreeSet<FileId> = order::set(files);
        let result = match (missing, providers.len()) {
            (0, _) if requesters.is_empty() && programs.is_empty() => "nothing needs it".to_owned(),
            (0, _) if requesters.is_empty() => {
                format!("the interpreter of {}", roots_in_words(programs.len()))
            }
            (0, _) => format!("needed by {}", count(files.len(), "file", "files")),
            _ => {
                format!("needed by {}, missing for {missing}", count(files.len(), "file", "files"))
            }
        };
        let code = if missing > 0 { "1;31" } else { "1;32" };
        let named = count(providers.len(), "file", "files");
        let under = under.map(|entry| format!(" under {entry}")).unwrap_or_default();
        let text =
            format!("{}: a library; {result}; {named} of this name{under}", glued(&show(name)));
        painted(&text, (&result, code), self.style, self.out)
    }

    fn library_provider(&mut self, provider: &library::LibraryProvider) -> io::Result<()> {
        let path = self.path(provider.file);
        let text = match provider.places.first() {
            None => "no entry point loads it".to_owned(),
            Some(place) => {
                let roots = self.roots(place.root, provider.places.len());
                match place.position {
                    Some(0) if provider.places.len() == 1 => "an entry point".to_owned(),
                    Some(at) => format!("place {at} in the scope of {roots}"),
                    None => format!("in the link map of {roots}"),
                }
            }
        };
        self.row(3, &[Cell::new(path, 0), Cell::dim(text)])
    }

    fn copy(&mut self, copy: &Copy) -> io::Result<()> {
        let place = match copy.position {
            Some(at) => format!("place {at} in the scope"),
            None => "in the link map".to_owned(),
        };
        let by = copy.needed_by.map(|file| format!(", needed by {}", self.path(file)));
        let text = format!("{place}{}", by.unwrap_or_default());
        let path = self.path(copy.file);
        self.row(3, &[Cell::new(path, 0), Cell::dim(text)])
    }

    /// Writes the effect that LD_LIBRARY_PATH would have on a need.
    fn library_path(&mut self, requester: &library::LibraryRequester) -> io::Result<()> {
        let is_musl = |root: &RootId| self.audit.loader(*root).is_musl();
        let text = match (&requester.instead, requester.how) {
            (None, FoundBy::Rpath(_)) if !requester.roots.iter().any(is_musl) => {
                "comes after DT_RPATH".to_owned()
            }
            (Some(files), _) if !files.is_empty() => {
                let files: Vec<String> = files.iter().map(|file| self.path(*file)).collect();
                format!("with the directory would find {}", files.join(" or "))
            }
            _ => return Ok(()),
        };
        self.detail("LD_LIBRARY_PATH", &text)
    }

    fn library_requester(
        &mut self,
        requester: &library::LibraryRequester,
        column: usize,
    ) -> io::Result<()> {
        let audit = self.audit;
        let how = requester.how.name();
        let name = show(audit.text(requester.name));
        let found = match requester.how {
            FoundBy::Missing => [Cell::alarm(format!("{how:<8} {name} NOT FOUND")), Cell::dim("")],
            FoundBy::Provided => [Cell::dim(format!("{how:<8}")), Cell::new("by the system", 0)],
            _ => {
                let opened = show(audit.text(requester.opened));
                [Cell::dim(format!("{how:<8}")), Cell::new(opened, 0)]
            }
        };
        let owner = requester.rpath_of.filter(|owner| *owner != requester.file);
        let of = owner.map(|owner| format!("by RPATH of {}", self.path(owner)));
        let [how, found] = found;
        let path = Cell::new(self.path(requester.file), column);
        self.row(3, &[path, how, found, Cell::dim(of.unwrap_or_default())])?;
        if requester.chain.len() > 2 || (requester.is_missing() && requester.chain.len() > 1) {
            let chain: Vec<String> = requester.chain.iter().map(|hop| self.path(*hop)).collect();
            self.detail("chain", &chain.join(" > "))?;
        }
        if let (Some(first), true) = (requester.roots.first(), requester.roots.len() > 1) {
            let roots = self.roots(*first, requester.roots.len());
            self.detail("under", &roots)?;
        }
        self.library_path(requester)?;
        let verbose = self.style.verbose;
        let wanted = |tried: &&Tried| verbose || (requester.is_missing() && !tried.subdir);
        for tried in requester.tried.iter().filter(wanted) {
            self.detail("tried", &tried_in_words(tried))?;
        }
        Ok(())
    }
}

fn roots_in_words(n: usize) -> String {
    count(n, "entry point", "entry points")
}
