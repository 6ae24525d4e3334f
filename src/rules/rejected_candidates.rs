//! Candidates for a library that is missing or was found in the wrong place. Each candidate gets
//! the reason why the loader did not take it, and the search-path entry with which the loader would
//! take it.

use super::Query;
use super::query::last_part;
use crate::finding::{Evidence, REASON_AND, REMOVED, Rejection};
use crate::format::elf::Object;
use crate::id::{FastSet, FileId, ModuleId, RootId};
use crate::package::{search_entry, searched_directory};
use crate::resolve::trace::Tried;
use crate::resolve::{self, FoundBy, ROOT, has_token};
use crate::text::show;
use crate::tree::{is_set_id, without_dots};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

const SLASH: &str = "the loader does not search for a name with a slash";
const ONLY_SONAME: &str = "only its DT_SONAME is the needed name";
/// Maximum number of entry points in whose link maps an object is looked up.
const MOST_ROOTS: usize = 16;

/// A need for which the loader finds no file, or a file outside of the store or prefix of the
/// object.
#[derive(Clone, Copy)]
pub(super) struct Need<'a> {
    /// The object that has the need.
    pub(super) file: FileId,
    /// The needed name.
    pub(super) name: &'a [u8],
    /// The entry points with this need.
    pub(super) roots: &'a [RootId],
    /// The module of the object in the link map of the first entry point.
    pub(super) module: ModuleId,
}

impl Query<'_> {
    /// Adds to each candidate the reason why the loader, which tried `attempts`, did not take it.
    /// Also adds the search-path entry with which the loader would take it.
    pub(super) fn with_reasons(
        &self,
        need: Need<'_>,
        mut candidates: Vec<Evidence>,
        attempts: &[Tried],
    ) -> Vec<Evidence> {
        if candidates.is_empty() {
            return candidates;
        }
        let directory = |path: &[u8]| {
            without_dots(Path::new(OsStr::from_bytes(path))).parent().map(Path::to_path_buf)
        };
        let searched: FastSet<PathBuf> =
            attempts.iter().filter_map(|attempt| directory(&attempt.path)).collect();
        let base = last_part(Path::new(OsStr::from_bytes(need.name)));
        let origins = self.origins(need);
        for candidate in &mut candidates {
            if candidate.how.as_deref() == Some(REMOVED) {
                candidate.reason = Some("the package lists it, and no such file exists".to_owned());
                continue;
            }
            let Some(path) = candidate.path.as_deref() else { continue };
            let directory = path.parent().map(searched_directory);
            if let Some(version) = self.lacking_version(need, path) {
                candidate.reason =
                    Some(format!("{}{}", Rejection::LacksVersion.words(), show(&version)));
                continue;
            }
            let links = self.links(path);
            let directories = links.iter().filter_map(|link| link.parent()).map(searched_directory);
            let entries = directories.filter_map(|dir| self.entry(need, &origins, dir));
            let entry = entries.min_by_key(Vec::len);
            let is_path = need.name.contains(&b'/');
            let is_searched = directory.is_some_and(|dir| {
                !is_path && searched.contains(dir) || self.has_entry(need, &origins, dir)
            });
            candidate.entry = entry;
            let is_named = last_part(path) == base;
            let reasons = [
                is_path.then_some(SLASH),
                (!is_searched).then_some(Rejection::NotSearched.words()),
                (!is_path && !is_named).then_some(ONLY_SONAME),
            ];
            let mut reasons: Vec<String> =
                reasons.into_iter().flatten().map(str::to_owned).collect();
            if !is_path && !is_named {
                reasons.extend(
                    self.in_place(&path.with_file_name(OsStr::from_bytes(base))).map(str::to_owned),
                );
            }
            if let Some((library, version)) = directory.and_then(|dir| self.displaced(need, dir)) {
                candidate.entry = None;
                let (library, version) = (show(&library), show(&version));
                reasons.push(format!("beside it, {library} does not define version {version}"));
            }
            candidate.reason = (!reasons.is_empty()).then(|| reasons.join(REASON_AND));
        }
        candidates
    }

    /// What is in the place of a link that would give a candidate the needed name; `None` if there
    /// is nothing.
    fn in_place(&self, link: &Path) -> Option<&'static str> {
        let is_dangling = self.dangling_links().iter().any(|one| one.path == *link);
        if is_dangling {
            return Some(Rejection::NameDangles.words());
        }
        self.file_at(link).map(|_| Rejection::NameTaken.words())
    }

    /// The search-path entry with which the object finds libraries in `directory` under all entry
    /// points; `None` if no entry can name the directory. The entry is absolute if `$ORIGIN` has
    /// several values for the object. It is also absolute if an entry point has a set-ID bit,
    /// because the loader then ignores `$ORIGIN` for other users (`elf/dl-load.c`,
    /// `_dl_dst_substitute`).
    fn entry(
        &self,
        need: Need<'_>,
        origins: &BTreeSet<PathBuf>,
        directory: &Path,
    ) -> Option<Vec<u8>> {
        let is_privileged =
            |root: &RootId| is_set_id(self.facts(self.closure(*root).root.file).stat.mode);
        let mut origins = origins.iter();
        let entry = match (origins.next(), origins.next()) {
            (Some(only), None) if !need.roots.iter().take(MOST_ROOTS).any(is_privileged) => {
                search_entry(&only.join("object"), directory)?
            }
            _ => directory.to_path_buf(),
        };
        let entry = entry.into_os_string().into_vec();
        let fixed = entry.strip_prefix(b"$ORIGIN").unwrap_or(&entry);
        (!fixed.contains(&b':') && !has_token(fixed)).then_some(entry)
    }

    /// True if the object's own search path has an entry for this directory.
    fn has_entry(&self, need: Need<'_>, origins: &BTreeSet<PathBuf>, directory: &Path) -> bool {
        let Some(root) = need.roots.first() else { return false };
        let loader = self.loader(self.closure(*root));
        let list = self.view().object(need.file).and_then(Object::search_path);
        let mut entries = list.into_iter().flat_map(|list| resolve::entries(list, loader));
        entries.any(|entry| {
            origins.iter().any(|origin| {
                let path = resolve::expanded(entry, loader, origin.as_os_str().as_bytes());
                let path = path.unwrap_or_default();
                without_dots(Path::new(OsStr::from_bytes(&path))) == *directory
            })
        })
    }

    /// The values of `$ORIGIN` for the object. If the loader finds a library through a link, the
    /// value is the directory of the link. If the object is started and has hard links, their
    /// directories are values too.
    fn origins(&self, need: Need<'_>) -> BTreeSet<PathBuf> {
        let facts = self.facts(need.file);
        let mut out = BTreeSet::new();
        for (at, root) in need.roots.iter().take(MOST_ROOTS).enumerate() {
            let closure = self.closure(*root);
            let found = || closure.found().find(|(_, file)| *file == need.file);
            let module = if at == 0 { Some(need.module) } else { found().map(|(id, _)| id) };
            let path = match module {
                Some(module) if module != ROOT => {
                    let opened = self.text(closure.module(module).path);
                    without_dots(Path::new(OsStr::from_bytes(opened)))
                }
                _ => {
                    let links = facts.hard_links().filter_map(Path::parent);
                    out.extend(links.map(Path::to_path_buf));
                    let started = self.text(closure.root.path);
                    facts.started_as(started, &self.plan().cwd).to_path_buf()
                }
            };
            let path = if path.is_absolute() { path } else { facts.real.to_path_buf() };
            out.extend(path.parent().map(Path::to_path_buf));
        }
        out
    }

    /// The path of a candidate, and its links of the same name in the same prefix: the directory of
    /// a link may have a shorter search-path entry.
    fn links<'p>(&'p self, path: &'p Path) -> Vec<&'p Path> {
        let prefix = |path: &Path| self.prefixes().locate(path).prefix;
        let facts = self.file_at(path).map(|file| self.facts(file));
        let links = facts.into_iter().flat_map(|facts| facts.same_named(path));
        let is_same = |link: &&Path| prefix(link) == prefix(path);
        std::iter::once(path).chain(links.filter(is_same)).collect()
    }

    /// A library of the system that the object would take from `directory` with a search-path entry
    /// for it, and a version that the file there lacks: the program would not start.
    fn displaced(&self, need: Need<'_>, directory: &Path) -> Option<(Vec<u8>, Vec<u8>)> {
        let closure = self.closure(*need.roots.first()?);
        let of_system = |how| matches!(how, FoundBy::Cache | FoundBy::Default | FoundBy::Loaded);
        let edges = closure.needs(need.module).iter().filter(|edge| of_system(edge.how));
        let mut names = edges.map(|edge| (self.text(edge.name), closure.module(edge.to).file));
        names.find_map(|(name, found)| {
            let path = directory.join(OsStr::from_bytes(name));
            let is_other = self.file_at(&path).is_some() && self.file_at(&path) != found;
            let need = Need { name, ..need };
            let version = self.lacking_version(need, &path).filter(|_| is_other)?;
            Some((name.to_vec(), version))
        })
    }

    /// A version that the object needs from the library and that the file at `path` lacks. A loader
    /// that takes a file without a needed version ends the process (`elf/dl-version.c`).
    fn lacking_version(&self, need: Need<'_>, path: &Path) -> Option<Vec<u8>> {
        let user = self.view().object(need.file)?;
        let candidate = self.view().object(self.file_at(path)?)?;
        lacking_version(user, need.name, candidate)
    }
}

/// A version that `user` needs from the library `name` and that `candidate` lacks.
pub(super) fn lacking_version(user: &Object, name: &[u8], candidate: &Object) -> Option<Vec<u8>> {
    let base = last_part(Path::new(OsStr::from_bytes(name)));
    let is_named = |file: &[u8]| file == name || file == base;
    let needs = user.versions.needs.iter().filter(|need| is_named(user.str(need.file)));
    let mut versions = needs.flat_map(|need| &need.versions).filter(|version| !version.weak);
    let defines = |name: &[u8]| {
        candidate.versions.defs.iter().any(|version| candidate.str(version.name) == name)
    };
    let lacking = versions.find(|version| !defines(user.str(version.name)))?;
    Some(user.str(lacking.name).to_vec())
}
