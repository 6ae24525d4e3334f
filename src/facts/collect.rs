//! Puts facts together: of what a walk met, and of what a stage needs later. The only place where the
//! corpus grows; `audit` runs it. Files are read by `read`, needs answered by `answer`.

use super::answer::{Answer, Directory, Found, Places, answer, as_path, read_definitions, second};
use super::members::{self, Source};
use super::read::Read;
use super::{Content, Corpus, CrossCheck, FileFacts, Name, Need, Place};
use crate::format::Reading;
use crate::format::archive::{Definition, Names};
use crate::format::elf::relocs::Relocations;
use crate::format::second::Second;
use crate::format::{Defect, Table, elf};
use crate::id::{FastMap, FastSet, FileId};
use crate::tree::walk::{Entry, Given, Problem, describe};
use crate::tree::{Errno, Kind, Stat, Tree};
use rayon::prelude::*;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Fills a corpus and answers needs.
pub struct Collector<'t> {
    tree: &'t dyn Tree,
    reading: Reading,
    /// What was given, until somebody asks below which directories members of thin archives are opened.
    given: Vec<&'t [Given]>,
    /// Those directories.
    allowed: Vec<PathBuf>,
    /// Names that members of archives are asked for.
    asked: Vec<Box<[u8]>>,
    real_dirs: FastMap<PathBuf, Option<PathBuf>>,
    /// The directory that was asked for last, with what it really is: names come in their order.
    last_dir: Option<(PathBuf, Option<PathBuf>)>,
    /// Configuration files that a loader would read and that could not be read here.
    problems: Vec<Problem>,
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
            real_dirs: FastMap::default(),
            last_dir: None,
            problems: Vec::new(),
        }
    }

    /// Takes the names a walk found, in order of their paths. `audited` says whether they were
    /// given to audit or only as providers.
    pub fn add_entries(
        &mut self,
        corpus: &mut Corpus,
        given: &[Given],
        entries: Vec<Entry<Read>>,
        audited: bool,
    ) {
        let key = |entry: &Entry<Read>| (entry.stat.dev, entry.stat.ino);
        // A file of several names was read under one of them, which need not come first.
        let bare: FastSet<(u64, u64)> =
            entries.iter().filter(|entry| entry.item.is_none()).map(key).collect();
        let mut reads: FastMap<(u64, u64), Read> = FastMap::default();
        let mut names = entries;
        for entry in names.iter_mut().filter(|entry| bare.contains(&key(entry))) {
            if let Some(item) = entry.item.take() {
                reads.insert(key(entry), item);
            }
        }
        // A file's own name comes before the links to it; byte order within each.
        names.sort_by(|a, b| {
            a.is_link.cmp(&b.is_link).then_with(|| a.path.as_os_str().cmp(b.path.as_os_str()))
        });
        let mut links = self.link_targets(&names);
        corpus.expect(names.len());
        let roots = self.roots(given);
        for Entry { is_link, given_link, path, stat, item, .. } in names {
            let key = (stat.dev, stat.ino);
            let place = match below(&roots, &path) {
                Some(place) => Ok(place),
                None => self.real_path(&path, given_link),
            };
            let file = if let Some(file) = corpus.by_inode.get(&key) {
                let place = place.unwrap_or_else(|_| path.clone());
                if *corpus.files[*file].path != *place {
                    corpus.files[*file].names.push(Name { path: place, is_link });
                }
                *file
            } else {
                // Facts are read under one name of an inode. A name without any is of a file that
                // was replaced while it was walked.
                let mut read = item.or_else(|| reads.remove(&key)).unwrap_or_else(Read::elsewhere);
                let relocations = read.relocations.take();
                let mut facts = self.facts(&path, place.ok().as_deref(), stat, read);
                if facts.typed.as_os_str() != path.as_os_str() {
                    facts.typed = path.as_path().into();
                }
                match links.remove(&key).filter(|_| is_link) {
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
                Some(place) => *place = Place::File(file),
                None => drop(corpus.places.insert(bytes.into(), Place::File(file))),
            }
        }
    }

    /// What files really are that are met under links only.
    fn link_targets(&self, names: &[Entry<Read>]) -> FastMap<(u64, u64), Result<PathBuf, Errno>> {
        if !names.iter().any(|entry| entry.is_link) {
            return FastMap::default();
        }
        let key = |entry: &Entry<Read>| (entry.stat.dev, entry.stat.ino);
        let mut known: FastSet<(u64, u64)> =
            names.iter().filter(|entry| !entry.is_link).map(key).collect();
        let links = names.iter().filter(|entry| entry.is_link && known.insert(key(entry)));
        let links: Vec<&Entry<Read>> = links.collect();
        let real = |entry: &&Entry<Read>| (key(entry), self.tree.real_path(&entry.path));
        let found: Vec<_> = links.par_iter().map(real).collect();
        found.into_iter().collect()
    }

    /// Says what was given: members of thin archives are opened below it only.
    pub fn let_open_below(&mut self, given: &'t [Given]) {
        self.given.push(given);
    }

    /// Says which names members of archives will be asked for.
    pub fn expect<'n>(&mut self, names: impl Iterator<Item = &'n [u8]>) {
        self.asked.extend(names.map(Box::from));
    }

    /// Lets members of thin archives be opened below what was given, and beside given files.
    fn allow(&mut self) {
        for given in std::mem::take(&mut self.given).into_iter().flatten() {
            let dir = match given.kind {
                Ok(Kind::Directory) => self.tree.real_path(&given.path).ok(),
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

    /// Given directories with what they really are.
    fn roots(&self, given: &[Given]) -> Vec<(PathBuf, PathBuf)> {
        let dirs = given.iter().filter(|given| given.kind == Ok(Kind::Directory));
        dirs.filter_map(|dir| Some((dir.path.clone(), self.tree.real_path(&dir.path).ok()?)))
            .collect()
    }

    /// Reads what `needs` names. Parallel site 2: the reads; the corpus grows in the order of the
    /// needs.
    pub fn answer(&mut self, corpus: &mut Corpus, mut needs: Vec<Need>) {
        needs.sort_unstable();
        needs.dedup();
        if needs.iter().any(|need| matches!(need, Need::Members(_))) {
            self.allow();
            let (tree, Reading { index, names, .. }) = (self.tree, self.reading);
            let (allowed, asked) = (&*self.allowed, &*self.asked);
            members::answer(Source { tree, allowed, index, names, asked }, corpus, &needs);
        }
        let (tree, reading) = (self.tree, self.reading);
        let known = &*corpus;
        // Needs differ in cost by thousands.
        let needed = needs.into_par_iter().with_max_len(1);
        let answers: Vec<Answer> = needed.map(|need| answer(tree, reading, known, need)).collect();
        for answer in answers {
            self.put(corpus, answer);
        }
    }

    /// Asks every archive at hand for members that define `names`.
    pub fn archive_definitions(
        &self,
        corpus: &mut Corpus,
        names: &Names,
    ) -> Vec<(FileId, Vec<Definition>)> {
        if names.is_empty() {
            return Vec::new();
        }
        let archives: Vec<FileId> = corpus
            .files
            .entries()
            .filter(|(_, facts)| matches!(facts.content, Content::Archive(_)))
            .map(|(file, _)| file)
            .collect();
        let tree = self.tree;
        let known = &*corpus;
        let found: Vec<_> = archives
            .par_iter()
            .map(|file| read_definitions(tree, &known.files[*file], names))
            .collect();
        let mut out = Vec::new();
        for (file, (definitions, defects)) in archives.into_iter().zip(found) {
            corpus.files[file].defects.extend(defects);
            out.push((file, definitions));
        }
        out
    }

    /// Reads every ELF file and archive again with a second reader.
    pub fn cross_check(&self, corpus: &Corpus) -> CrossCheck {
        let files: Vec<FileId> = corpus.files.ids().collect();
        let tree = self.tree;
        let seconds: Vec<Option<Second>> =
            files.par_iter().map(|file| second(tree, &corpus.files[*file])).collect();
        let mut out = CrossCheck::default();
        for (file, second) in files.into_iter().zip(seconds) {
            match second {
                None => {}
                Some(Second::Read(differences)) => {
                    out.read += 1;
                    out.differences.extend(differences.into_iter().map(|found| (file, found)));
                }
                Some(Second::GaveUp(why)) => *out.gave_up.entry(why).or_default() += 1,
            }
        }
        out
    }

    /// What could not be read since the walk.
    pub fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    fn put(&mut self, corpus: &mut Corpus, answer: Answer) {
        match answer {
            Answer::Places(places) => self.put_places(corpus, places),
            Answer::Directory(path, found) => {
                if found == Directory::OfProcess {
                    corpus.of_process.insert(path.clone().into());
                }
                corpus.directories.insert(path.into(), found != Directory::Absent);
            }
            Answer::Bytes(path, bytes) => {
                // A loader does without what is not there or not readable; it would read these.
                if let Err(errno @ (Errno::IO | Errno::FBIG)) = bytes {
                    let (path, reason) = (as_path(&path), describe(errno));
                    self.problems.push(Problem { path, reason });
                }
                corpus.bytes.insert(path.into(), bytes);
            }
            Answer::Interpreter(file, interpreter) => {
                if interpreter.is_none() {
                    corpus.files[file].defects.push(moved());
                }
                corpus.interpreters.insert(file, interpreter.unwrap_or_default());
            }
            Answer::Tables(file, Some((stat, read))) => replace(corpus, file, stat, *read),
            Answer::Tables(file, None) => gone(corpus, file),
            Answer::Relocations(file, relocations) => {
                corpus.files[file].defects.extend(relocations.defects.iter().cloned());
                corpus.relocations.insert(file, relocations);
            }
            Answer::Members => {}
        }
    }

    fn put_places(&mut self, corpus: &mut Corpus, Places { paths, portion, found }: Places) {
        // What ends a search early leaves paths behind it at which nothing was looked up.
        let portion = portion.filter(|_| found.len() == paths.len());
        corpus.portions.extend(portion);
        for (path, found) in paths.into_iter().zip(found) {
            let place = match found {
                Found::Place(place) => place,
                Found::File(stat, read) => self.insert(corpus, &path, stat, *read),
            };
            if portion.is_none() || place != Place::Failed(Errno::NOENT) {
                corpus.places.insert(path.into(), place);
            }
        }
    }

    fn insert(&mut self, corpus: &mut Corpus, path: &[u8], stat: Stat, mut read: Read) -> Place {
        // Two needs of one round may have led to the same inode.
        if let Some(file) = corpus.by_inode.get(&(stat.dev, stat.ino)) {
            return Place::File(*file);
        }
        let path = as_path(path);
        let real = self.real_path(&path, self.may_be_link(&path));
        let relocations = read.relocations.take();
        let facts = self.facts(&path, real.ok().as_deref(), stat, read);
        Place::File(insert(corpus, facts, relocations))
    }

    /// The facts of a file that was opened as `path` and lies at `place`, if that can be told.
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
            names: Vec::new(),
            stat,
            audited: false,
            provider: false,
            content,
            defects,
            unreadable,
        }
    }

    /// A path that could not be looked at, made absolute with what is there of it resolved.
    pub fn absolute(&mut self, path: &Path, cwd: &Path) -> PathBuf {
        match (path.parent(), path.file_name()) {
            (Some(dir), Some(name)) => match self.real_dir(dir) {
                Some(dir) => dir.join(name),
                None => cwd.join(path),
            },
            _ => self.tree.real_path(path).unwrap_or_else(|_| cwd.join(path)),
        }
    }

    /// Names of a walk as files below `given` have them: links below a given directory are kept.
    pub fn placed(&mut self, given: &[Given], names: &[PathBuf]) -> Vec<PathBuf> {
        let roots = self.roots(given);
        let place = |name: &PathBuf| {
            let inside = below(&roots, name).map_or_else(|| self.real_path(name, false), Ok);
            inside.unwrap_or_else(|_| name.clone())
        };
        names.iter().map(place).collect()
    }

    /// `path` with links resolved, asking for each directory once.
    fn real_path(&mut self, path: &Path, is_link: bool) -> Result<PathBuf, Errno> {
        if let (Some(dir), Some(name), false) = (path.parent(), path.file_name(), is_link) {
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

    /// True if `path` is a link, or if that cannot be read and the kernel resolves the path.
    fn may_be_link(&self, path: &Path) -> bool {
        match self.tree.read_link(path) {
            Ok(_) => true,
            Err(Errno::INVAL | Errno::NOENT | Errno::NOTDIR) => false,
            Err(_) => self.tree.real_path(path).is_ok(),
        }
    }

    /// `dir` with links resolved. Each directory is asked for once: one that is no link lies in
    /// what its parent really is. The way up and down again is no recursion: trees may be deep.
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

/// The place of what was met below a given directory: a walk follows no links inside it.
fn below(roots: &[(PathBuf, PathBuf)], path: &Path) -> Option<PathBuf> {
    let (dir, real) = roots.iter().find(|(dir, _)| path.starts_with(dir))?;
    Some(real.join(path.strip_prefix(dir).ok()?))
}

/// A file that was opened is not at its path any more.
fn moved() -> Defect {
    Defect::new(Table::File, 0, "changed while it was audited")
}

fn insert(corpus: &mut Corpus, facts: FileFacts, relocations: Option<Relocations>) -> FileId {
    let key = (facts.stat.dev, facts.stat.ino);
    let path: Box<[u8]> = facts.path.as_os_str().as_bytes().into();
    let file = corpus.files.push(facts);
    corpus.by_inode.insert(key, file);
    if let Some(relocations) = relocations {
        corpus.relocations.insert(file, relocations);
    }
    corpus.places.insert(path, Place::File(file));
    file
}

/// A file was read again for its tables: everything else must still be the same version.
fn replace(corpus: &mut Corpus, file: FileId, stat: Stat, read: Read) {
    if stat != corpus.files[file].stat {
        return gone(corpus, file);
    }
    corpus.files[file].content = read.content;
    corpus.files[file].defects.extend(read.defects);
    if corpus.files[file].object().is_some_and(|object| object.tables.is_none()) {
        gone(corpus, file);
    }
}

/// The tables of a file cannot be had any more; it stays in the corpus with empty ones.
fn gone(corpus: &mut Corpus, file: FileId) {
    let facts = &mut corpus.files[file];
    facts.defects.push(moved());
    if let Content::Elf(object) = &mut facts.content {
        object.tables = Some(elf::Tables::empty());
    }
}
