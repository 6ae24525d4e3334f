//! Collects facts: from a walk, and for the needs of a stage. `audit` runs the [`Collector`], and
//! only the collector adds facts to the corpus. `read` reads files, `answer` answers needs, and
//! `members` reads the members of archives.

use super::answer::{
    Directory, FactAnswer, ProbedEntry, ProbedPaths, answer, as_path, read_definitions,
    read_device_code, second,
};
use super::members::{self, MemberSource};
use super::read::Read;
use super::{Content, Corpus, CrossCheck, FileFacts, FileName, NOT_AGAIN, Need, PathState};
use crate::format::Reading;
use crate::format::archive::{DefiningMember, RequestedNames};
use crate::format::cross_check::SecondReading;
use crate::format::elf::relocs::Relocations;
use crate::format::gpu::{Depth, DeviceCode};
use crate::format::{Defect, Table, elf};
use crate::id::{FastMap, FastSet, FileId};
use crate::parallel;
use crate::text::directory_and_name;
use crate::tree::walk::{GivenPath, UnreadablePath, WalkedName, describe};
use crate::tree::{EntryType, Errno, LinkTargets, Stat, Tree};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Fills a corpus and answers needs.
pub struct Collector<'t> {
    tree: &'t dyn Tree,
    reading: Reading,
    /// Given paths whose directories are not in `allowed` yet.
    given: Vec<&'t [GivenPath]>,
    /// Real paths of the directories below which members of thin archives are opened.
    allowed: Vec<PathBuf>,
    /// Names that later stages will look up in members of archives.
    asked: Vec<Box<[u8]>>,
    /// The prefix that the user stated, with links resolved.
    prefix: Option<PathBuf>,
    real_dirs: FastMap<PathBuf, Option<PathBuf>>,
    /// The last resolved directory and its real path. Names are sorted by directory, so the next
    /// name is often in the same directory.
    last_dir: Option<(PathBuf, Option<PathBuf>)>,
    /// Directories and configuration files that a loader would read and the audit could not read.
    problems: Vec<UnreadablePath>,
}

/// A list for each file, in the order of the files.
pub type ByFile<T> = Vec<(FileId, Vec<T>)>;

/// Facts that were read, and are not in the corpus yet.
pub struct Answers {
    needs: Vec<Need>,
    facts: Vec<FactAnswer>,
}

fn sorted(mut needs: Vec<Need>) -> Vec<Need> {
    needs.sort_unstable();
    needs.dedup();
    needs
}

impl<'t> Collector<'t> {
    /// A collector that reads from `tree`.
    pub fn new(tree: &'t dyn Tree, reading: Reading) -> Self {
        Self {
            tree,
            reading,
            given: Vec::new(),
            allowed: Vec::new(),
            asked: Vec::new(),
            prefix: None,
            real_dirs: FastMap::default(),
            last_dir: None,
            problems: Vec::new(),
        }
    }

    /// Sets the prefix that the user stated. The recorded path of a file in this prefix is its real
    /// path, even if the walk found only links to the file. The recorded path then does not depend
    /// on which part of the prefix is audited.
    pub fn state_prefix(&mut self, prefix: Option<&Path>) {
        self.prefix = prefix.map(Path::to_path_buf);
    }

    /// Adds the names that a walk found: first names that are not links, then links, both in byte
    /// order. `audited` is true for files to audit and false for files that serve only as
    /// providers.
    pub fn add_entries(
        &mut self,
        corpus: &mut Corpus,
        given: &[GivenPath],
        entries: Vec<WalkedName<Read>>,
        audited: bool,
    ) {
        let key = |entry: &WalkedName<Read>| (entry.stat.dev, entry.stat.ino);
        // A file with several names was read under one of them, not necessarily the first.
        let bare: FastSet<(u64, u64)> =
            entries.iter().filter(|entry| entry.item.is_none()).map(key).collect();
        let mut reads: FastMap<(u64, u64), Read> = FastMap::default();
        let mut names = entries;
        for entry in names.iter_mut().filter(|entry| bare.contains(&key(entry))) {
            if let Some(item) = entry.item.take() {
                reads.insert(key(entry), item);
            }
        }
        // Names of a file precede links to it; both are in byte order.
        names.sort_by(|a, b| {
            a.is_link.cmp(&b.is_link).then_with(|| a.path.as_os_str().cmp(b.path.as_os_str()))
        });
        let mut links = self.link_targets(&names);
        corpus.expect(names.len());
        let roots = self.roots(given);
        for WalkedName { is_link, given_link, path, stat, item, .. } in names {
            let key = (stat.dev, stat.ino);
            let place = match below(&roots, &path) {
                Some(place) => Ok(place),
                None => self.real_path(&path, given_link),
            };
            let file = if let Some(file) = corpus.by_inode.get(&key) {
                let place = place.unwrap_or_else(|_| path.clone());
                if *corpus.files[*file].path != *place {
                    corpus.files[*file].names.push(FileName { path: place, is_link });
                }
                *file
            } else {
                // The walk reads an inode under one of its names. If no name has the facts, the
                // file was replaced during the walk.
                let mut read = item.or_else(|| reads.remove(&key)).unwrap_or_else(Read::elsewhere);
                let relocations = read.relocations.take();
                let target = links.remove(&key).filter(|_| is_link);
                let real = target.as_ref().and_then(|real| real.as_ref().ok());
                let prefix = self.prefix.as_deref();
                let inside = real.filter(|real| prefix.is_some_and(|dir| real.starts_with(dir)));
                let own = inside.cloned().or_else(|| place.as_ref().ok().cloned());
                let mut facts = self.facts(&path, own.as_deref(), stat, read);
                facts.by_link = is_link;
                if facts.typed.as_os_str() != path.as_os_str() {
                    facts.typed = path.as_path().into();
                }
                if let (Some(_), Ok(place)) = (inside, place) {
                    facts.names.push(FileName { path: place, is_link });
                }
                match target {
                    Some(Ok(real)) => facts.real = real.into(),
                    Some(Err(_)) => facts.defects.push(moved()),
                    None => {}
                }
                insert(corpus, facts, relocations)
            };
            corpus.files[file].audited |= audited;
            corpus.files[file].provider |= !audited;
            let bytes = path.as_os_str().as_bytes();
            match corpus.places.get_mut(bytes) {
                Some(place) => *place = PathState::File(file),
                None => drop(corpus.places.insert(bytes.into(), PathState::File(file))),
            }
        }
    }

    /// The real paths of files that the walk found only through symbolic links, keyed by device and
    /// inode.
    fn link_targets(
        &self,
        names: &[WalkedName<Read>],
    ) -> FastMap<(u64, u64), Result<PathBuf, Errno>> {
        if !names.iter().any(|entry| entry.is_link) {
            return FastMap::default();
        }
        let key = |entry: &WalkedName<Read>| (entry.stat.dev, entry.stat.ino);
        let mut known: FastSet<(u64, u64)> =
            names.iter().filter(|entry| !entry.is_link).map(key).collect();
        let links = names.iter().filter(|entry| entry.is_link && known.insert(key(entry)));
        let links: Vec<&WalkedName<Read>> = links.collect();
        let targets = LinkTargets::new(self.tree);
        let real = |entry: &&WalkedName<Read>| (key(entry), targets.real_path(&entry.path));
        parallel::map(&links, real).into_iter().collect()
    }

    /// Records the given paths. Members of thin archives are opened only below given directories,
    /// and in the directories of given files.
    pub fn let_open_below(&mut self, given: &'t [GivenPath]) {
        self.given.push(given);
    }

    /// Records names that later stages will look up in members of archives.
    pub fn expect<'n>(&mut self, names: impl Iterator<Item = &'n [u8]>) {
        self.asked.extend(names.map(Box::from));
    }

    /// Allows members of thin archives to be opened below given directories, and in the directories
    /// of given files.
    fn allow(&mut self) {
        for given in std::mem::take(&mut self.given).into_iter().flatten() {
            let dir = match given.kind {
                Ok(EntryType::Directory) => self.tree.real_path(&given.path).ok(),
                Ok(_) => {
                    let path = self.real_path(&given.path, given.is_link).ok();
                    path.as_deref().and_then(Path::parent).map(Path::to_path_buf)
                }
                Err(_) => None,
            };
            self.allowed.extend(dir);
        }
        self.allowed.sort_unstable();
        self.allowed.dedup();
    }

    /// The given directories, each with its real path. Directories without a real path are left
    /// out.
    fn roots(&self, given: &[GivenPath]) -> Vec<(PathBuf, PathBuf)> {
        let dirs = given.iter().filter(|given| given.kind == Ok(EntryType::Directory));
        dirs.filter_map(|dir| Some((dir.path.clone(), self.tree.real_path(&dir.path).ok()?)))
            .collect()
    }

    /// Reads the facts in `needs` and adds them to the corpus. The order of `needs` does not
    /// matter.
    pub fn answer(&mut self, corpus: &mut Corpus, needs: Vec<Need>) {
        let needs = sorted(needs);
        if needs.iter().any(|need| matches!(need, Need::Members(_))) {
            self.allow();
            let (tree, Reading { index, names, .. }) = (self.tree, self.reading);
            let (allowed, asked) = (&*self.allowed, &*self.asked);
            let source = MemberSource { tree, allowed, index, names, asked };
            members::answer(source, corpus, &needs);
        }
        let answers = self.look_up(corpus, needs);
        self.add(corpus, answers);
    }

    /// Reads the facts in `needs`, except members of archives. The reads run in parallel.
    pub fn look_up(&self, corpus: &Corpus, needs: Vec<Need>) -> Answers {
        let (tree, reading) = (self.tree, self.reading);
        let needs = sorted(needs);
        // The costs of needs differ by factors of thousands, so each need is a separate task.
        let facts =
            parallel::map_single(&needs, |need| answer(tree, reading, corpus, need.clone()));
        Answers { needs, facts }
    }

    /// Adds facts in the order of the needs, except tables and relocations that the corpus has
    /// already.
    pub fn add(&mut self, corpus: &mut Corpus, answers: Answers) {
        for (need, answer) in answers.needs.into_iter().zip(answers.facts) {
            let is_of_file = matches!(need, Need::Tables(_) | Need::Relocations(_));
            if !(is_of_file && corpus.answers(&need)) {
                self.put(corpus, answer);
            }
        }
    }

    /// Searches every archive for members that define `names`. The lists are in the order of the
    /// files; the defects are returned, not added to the corpus.
    pub fn archive_definitions(
        &self,
        corpus: &Corpus,
        names: &RequestedNames,
    ) -> (ByFile<DefiningMember>, ByFile<Defect>) {
        if names.is_empty() {
            return <_>::default();
        }
        let archives = corpus.files.entries();
        let archives = archives.filter(|(_, facts)| matches!(facts.content, Content::Archive(_)));
        let archives: Vec<FileId> = archives.map(|(file, _)| file).collect();
        let tree = self.tree;
        let found =
            parallel::map(&archives, |file| read_definitions(tree, &corpus.files[*file], names));
        let found = archives.into_iter().zip(found);
        found.map(|(file, (found, defects))| ((file, found), (file, defects))).unzip()
    }

    /// Reads every archive and every dynamic ELF object again with a second reader, and compares
    /// the results.
    pub fn cross_check(&self, corpus: &Corpus) -> CrossCheck {
        let files: Vec<FileId> = corpus.files.ids().collect();
        let tree = self.tree;
        let seconds: Vec<Option<SecondReading>> =
            parallel::map(&files, |file| second(tree, &corpus.files[*file]));
        let mut out = CrossCheck::default();
        for (file, second) in files.into_iter().zip(seconds) {
            match second {
                None => {}
                Some(SecondReading::Read(differences)) => {
                    out.read += 1;
                    out.differences.extend(differences.into_iter().map(|found| (file, found)));
                }
                Some(SecondReading::GaveUp(why)) => *out.gave_up.entry(why).or_default() += 1,
            }
        }
        out
    }

    /// Reads the device code of files. The error is the reason in words, as the end of a sentence.
    pub fn device_code(
        &self,
        corpus: &Corpus,
        files: &[(FileId, Depth)],
    ) -> Vec<(FileId, Result<DeviceCode, String>)> {
        let tree = self.tree;
        let read =
            |(file, depth): &(FileId, Depth)| read_device_code(tree, &corpus.files[*file], *depth);
        let found = parallel::map_single(files, read);
        files.iter().map(|(file, _)| *file).zip(found).collect()
    }

    /// Directories and configuration files that a loader would read and the audit could not read.
    pub fn into_problems(self) -> Vec<UnreadablePath> {
        self.problems
    }

    fn put(&mut self, corpus: &mut Corpus, answer: FactAnswer) {
        match answer {
            FactAnswer::Places(places) => self.put_places(corpus, places),
            FactAnswer::Directory(path, found) => {
                if found == Directory::OfProcess {
                    corpus.of_process.insert(path.clone().into());
                }
                if let Directory::Unknown(errno) = found {
                    let (path, reason) = (as_path(&path), describe(errno));
                    self.problems.push(UnreadablePath { path, reason });
                }
                let is_there = matches!(found, Directory::Here | Directory::OfProcess);
                corpus.directories.insert(path.into(), is_there);
            }
            FactAnswer::Bytes(path, bytes) => {
                // A loader continues without an absent or unreadable file. But a loader could
                // read a file for which the audit gets EIO or EFBIG.
                if let Err(errno @ (Errno::IO | Errno::FBIG)) = bytes {
                    let (path, reason) = (as_path(&path), describe(errno));
                    self.problems.push(UnreadablePath { path, reason });
                }
                corpus.bytes.insert(path.into(), bytes);
            }
            FactAnswer::Interpreter(file, interpreter) => {
                if interpreter.is_none() {
                    corpus.files[file].defects.push(lost());
                }
                corpus.interpreters.insert(file, interpreter.unwrap_or_default());
            }
            FactAnswer::Tables(file, Some((stat, read))) => replace(corpus, file, stat, *read),
            FactAnswer::Tables(file, None) => drop_tables(corpus, file, lost()),
            FactAnswer::Relocations(file, relocations) => {
                corpus.files[file].defects.extend(relocations.defects.iter().cloned());
                corpus.relocations.insert(file, relocations);
            }
            FactAnswer::Members => {}
        }
    }

    fn put_places(
        &mut self,
        corpus: &mut Corpus,
        ProbedPaths { paths, batch, found }: ProbedPaths,
    ) {
        // If the search ended early, the remaining paths of the batch were not probed.
        let batch = batch.filter(|_| found.len() == paths.len());
        corpus.probe_batches.extend(batch);
        for (path, found) in paths.into_iter().zip(found) {
            let place = match found {
                ProbedEntry::PathState(place) => place,
                ProbedEntry::File(stat, read) => self.insert(corpus, &path, stat, *read),
            };
            if batch.is_none() || place != PathState::Failed(Errno::NOENT) {
                corpus.places.insert(path.into(), place);
            }
        }
    }

    fn insert(
        &mut self,
        corpus: &mut Corpus,
        path: &[u8],
        stat: Stat,
        mut read: Read,
    ) -> PathState {
        // Two needs of one round may have found the same inode.
        if let Some(file) = corpus.by_inode.get(&(stat.dev, stat.ino)) {
            return PathState::File(*file);
        }
        let path = as_path(path);
        let real = self.real_path(&path, self.may_be_link(&path));
        let relocations = read.relocations.take();
        let facts = self.facts(&path, real.ok().as_deref(), stat, read);
        PathState::File(insert(corpus, facts, relocations))
    }

    /// The facts of a file that was opened as `path`; its real path is `place`, if known.
    fn facts(&self, path: &Path, place: Option<&Path>, stat: Stat, read: Read) -> FileFacts {
        let Read { content, mut defects, unreadable, .. } = read;
        let origin = place.map(|place| self.tree.origin(place));
        if !matches!(origin, Some(Ok(_))) {
            defects.push(moved());
        }
        let place: Arc<Path> = place.unwrap_or(path).into();
        FileFacts {
            typed: Arc::clone(&place),
            real: Arc::clone(&place),
            package: self.tree.package(&place),
            origin: origin.and_then(Result::ok).flatten(),
            path: place,
            by_link: false,
            names: Vec::new(),
            stat,
            audited: false,
            provider: false,
            content,
            defects,
            unreadable,
        }
    }

    /// The absolute form of a path that could not be opened. If its directory exists, links in the
    /// directory's path are resolved.
    pub fn absolute(&mut self, path: &Path, cwd: &Path) -> PathBuf {
        match (path.parent(), path.file_name()) {
            (Some(dir), Some(name)) => match self.real_dir(dir) {
                Some(dir) => dir.join(name),
                None => cwd.join(path),
            },
            _ => self.tree.real_path(path).unwrap_or_else(|_| cwd.join(path)),
        }
    }

    /// The names of a walk in the form of `FileFacts::path`: links are resolved, except links below
    /// a given directory.
    pub fn placed(&mut self, given: &[GivenPath], names: &[PathBuf]) -> Vec<PathBuf> {
        let roots = self.roots(given);
        let place = |name: &PathBuf| {
            let inside = below(&roots, name).map_or_else(|| self.real_path(name, false), Ok);
            inside.unwrap_or_else(|_| name.clone())
        };
        names.iter().map(place).collect()
    }

    /// `path` with links resolved. If `is_link` is false, the last component is not a link. Then
    /// only the directory is resolved, and each directory only once.
    fn real_path(&mut self, path: &Path, is_link: bool) -> Result<PathBuf, Errno> {
        if let Some((dir, name)) = directory_and_name(path).filter(|_| !is_link) {
            let known = self.last_dir.as_ref();
            if known.is_none_or(|(last, _)| last.as_os_str() != dir.as_os_str()) {
                self.last_dir = Some((dir.to_path_buf(), self.real_dir(dir)));
            }
            let known = self.last_dir.as_ref().and_then(|(_, real)| real.as_ref());
            if let Some(real) = known {
                return Ok(real.join(name));
            }
        }
        self.tree.real_path(path)
    }

    /// True if `path` is a link, or may be one: `readlink` fails, for example with EACCES, and the
    /// kernel still resolves the path.
    fn may_be_link(&self, path: &Path) -> bool {
        match self.tree.read_link(path) {
            Ok(_) => true,
            Err(Errno::INVAL | Errno::NOENT | Errno::NOTDIR) => false,
            Err(_) => self.tree.real_path(path).is_ok(),
        }
    }

    /// `dir` with links resolved. Each directory is resolved once. If a directory is not a link,
    /// its real path is the real path of its parent plus its name. The function iterates instead of
    /// recursing, because trees may be deep.
    fn real_dir(&mut self, dir: &Path) -> Option<PathBuf> {
        let mut todo: Vec<&Path> = Vec::new();
        let mut here = dir;
        let mut real = loop {
            if let Some(known) = self.real_dirs.get(here) {
                break known.clone();
            }
            let named = matches!(here.components().next_back(), Some(Component::Normal(_)));
            match here.parent().filter(|above| named && !above.as_os_str().is_empty()) {
                Some(above) if !self.may_be_link(here) => {
                    todo.push(here);
                    here = above;
                }
                _ => {
                    let asked = if here.as_os_str().is_empty() { Path::new(".") } else { here };
                    let real = self.tree.real_path(asked).ok();
                    self.real_dirs.insert(here.to_path_buf(), real.clone());
                    break real;
                }
            }
        };
        for dir in todo.into_iter().rev() {
            real = real.and_then(|above| Some(above.join(dir.file_name()?)));
            self.real_dirs.insert(dir.to_path_buf(), real.clone());
        }
        real
    }
}

/// The path of a name below a given directory, with links resolved up to this directory but not
/// below it. `None` for other names.
fn below(roots: &[(PathBuf, PathBuf)], path: &Path) -> Option<PathBuf> {
    let (dir, real) = roots.iter().find(|(dir, _)| path.starts_with(dir))?;
    Some(real.join(path.strip_prefix(dir).ok()?))
}

/// The defect of an opened file that is no longer at its path.
fn moved() -> Defect {
    Defect::new(Table::File, 0, "changed while it was audited")
}

/// The defect of a file that was read once and cannot be read a second time.
fn lost() -> Defect {
    Defect::new(Table::File, 0, NOT_AGAIN)
}

fn insert(corpus: &mut Corpus, facts: FileFacts, relocations: Option<Relocations>) -> FileId {
    let key = (facts.stat.dev, facts.stat.ino);
    let path: Box<[u8]> = facts.path.as_os_str().as_bytes().into();
    let file = corpus.files.push(facts);
    corpus.by_inode.insert(key, file);
    if let Some(relocations) = relocations {
        corpus.relocations.insert(file, relocations);
    }
    corpus.places.insert(path, PathState::File(file));
    file
}

/// Replaces the content of a file that was read again for its tables. If the file has changed, or
/// its tables cannot be read, calls `drop_tables` instead.
fn replace(corpus: &mut Corpus, file: FileId, stat: Stat, read: Read) {
    if stat != corpus.files[file].stat {
        return drop_tables(corpus, file, moved());
    }
    corpus.files[file].defects.extend(read.defects);
    match read.content {
        Content::Elf(object) if object.tables.is_some() => {
            corpus.files[file].content = Content::Elf(object);
        }
        _ => drop_tables(corpus, file, lost()),
    }
}

/// Adds the defect of a file whose tables can no longer be read. The file stays in the corpus with
/// empty tables.
fn drop_tables(corpus: &mut Corpus, file: FileId, defect: Defect) {
    let facts = &mut corpus.files[file];
    facts.defects.push(defect);
    if let Content::Elf(object) = &mut facts.content {
        object.tables = Some(elf::Tables::empty());
    }
}
