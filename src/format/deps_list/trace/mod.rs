//! Follows a new name from a set to the links of targets, as CMake would run the commands of the
//! file. An unknown command may change the variables that its arguments name.
//!
//! If the result of a condition is unknown, the trace follows both ways. If a list has a word after
//! only one of the ways, the word gets a doubt: a hash of the conditions under which the list has
//! it. Words with equal doubts are in a list under the same conditions. A new name is certain if it
//! has no doubt, or the same doubt as a listed archive of its set.

mod arguments;
mod blocks;
mod calls;
mod commands;
mod condition;
mod lists;
mod order;
mod program;
mod reach;
mod run;
mod scopes;
mod state;
mod value;

pub(super) use commands::fits;
pub(super) use program::{Program, Step};

use super::values::words;
use super::{DepsList, Set};
use crate::id::{FastMap, FastSet};
use commands::LINK_LIBRARIES;
use run::Run;
use state::{Scope, State};
use std::sync::{Arc, OnceLock};
use value::{Mark, Value, Word};

/// True if the regular expression (the first argument) matches the word (the second). `None` if the
/// search takes too long.
pub type Matcher<'m> = dyn Fn(&[u8], &[u8]) -> Option<bool> + 'm;

/// True for the index of a set that a new name joins.
pub type Joins<'j> = dyn Fn(usize) -> bool + 'j;

/// The result of following one new name from the sets of a file to the links of targets.
pub struct Trace<'l> {
    list: &'l DepsList,
    state: State,
    losses: FastMap<usize, Losses>,
    /// The sets in arms that CMake runs on other systems only.
    elsewhere: FastSet<usize>,
    /// The sets whose new name a variable gets several times.
    repeated: FastSet<usize>,
    /// The result of [`Self::each`].
    all: OnceLock<FastMap<usize, Vec<Found>>>,
    /// True if the file has too many steps to follow.
    gave_up: bool,
    /// Number of steps that the trace took.
    pub steps: usize,
}

/// The lines of two commands: the first that certainly removes the new name of a set, and the first
/// that may remove it.
#[derive(Clone, Copy, Default)]
struct Losses {
    certain: Option<u32>,
    possible: Option<u32>,
}

/// The outcome for the new name of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A link gets the name always, or under the same conditions as a listed archive of the set.
    Kept,
    /// The command on this line removes the name, and no link gets it.
    Removed(u32),
    /// The command on this line may remove the name.
    MayBeRemoved(u32),
    /// The command of the set runs only on systems whose programs are not ELF files.
    Elsewhere,
    /// It is unknown if a link gets the name.
    Unknown,
}

/// The new name in one set.
struct NewWord {
    /// The text that an insertion writes for the name.
    text: Vec<u8>,
    /// The name of the archive, if the text is a component of LLVM.
    archive: Option<Vec<u8>>,
    /// The texts of the archives that the set lists.
    siblings: FastSet<Vec<u8>>,
    /// True if the name is added to the set. If not, the text is only recognised where the set
    /// lists it already.
    is_added: bool,
}

impl DepsList {
    /// Follows `name` in at most `most` steps, as if it were added to the sets of `identified` whose
    /// indices `joins` accepts. Other sets have it only if they list it. `identified` is this list after
    /// [`Self::identify`], perhaps without some of the sets.
    pub fn trace(
        &self,
        identified: &Self,
        (name, joins): (&[u8], &Joins<'_>),
        matches: &Matcher<'_>,
        most: usize,
    ) -> Trace<'_> {
        let mut news: FastMap<usize, NewWord> = FastMap::default();
        for (at, set) in identified.sets.iter().enumerate() {
            let Some(word) = identified.spelled(at, name) else { continue };
            let written = |entry: &super::ListedArchive| entry.spelling.write(&entry.name);
            let known = set.entries.iter().filter(|entry| entry.is_known);
            let siblings = known.filter_map(written).filter(|other| *other != word).collect();
            let archive = set.is_components.then(|| name.to_vec());
            let is_added = joins(at);
            news.insert(set.number, NewWord { text: word, archive, siblings, is_added });
        }
        let program = self.program();
        let mut run = Run::new(&self.text, program, &news, matches, most);
        run.file();
        Trace {
            list: self,
            steps: most - run.left,
            all: OnceLock::new(),
            gave_up: run.gave_up,
            losses: run.losses,
            elsewhere: run.elsewhere,
            repeated: run.repeated,
            state: run.state,
        }
    }
}

/// Instead of the number of a set, for words of commands without a set.
const NO_SET: usize = usize::MAX;

/// The words that one or several links get: for each set, the doubts of its new name and of its
/// archives.
#[derive(Default)]
pub struct Links {
    sets: FastMap<usize, Found>,
    /// For each archive of a set: the sets that it comes from, each with its doubt. [`NO_SET`] for
    /// commands without a set. The map also has words that name no archive.
    archives: FastMap<Arc<[u8]>, FastSet<(usize, u64)>>,
    /// The values that link commands give to the targets themselves, one for each target and scope.
    values: Vec<Value>,
}

#[derive(Default)]
struct Found {
    new: FastSet<u64>,
    siblings: FastSet<u64>,
    /// True if a variable has archives of the set, but a command removed the set's new name from
    /// that variable, or may have removed it.
    is_lost: bool,
}

impl Links {
    /// True if the links may get values of `set`.
    pub fn has(&self, set: &Set) -> bool {
        self.sets.contains_key(&set.number)
    }

    fn note(&mut self, text: Arc<[u8]>, from: (usize, u64)) {
        self.archives.entry(text).or_default().insert(from);
    }

    fn add(&mut self, word: &Word) {
        if let Some(mark) = word.mark {
            let found = self.sets.entry(mark.set).or_default();
            if mark.is_new { &mut found.new } else { &mut found.siblings }.insert(word.doubt);
        }
        match word.mark {
            Some(Mark { is_new: true, .. }) => {}
            Some(mark) => self.note(Arc::clone(&word.text), (mark.set, word.doubt)),
            // A text may name several archives.
            None => {
                for text in words(&word.text).0 {
                    self.note(text.into(), (NO_SET, word.doubt));
                }
            }
        }
    }
}

impl Found {
    fn is_certain(&self) -> bool {
        let is_certain = |doubt: &u64| *doubt == 0 || self.siblings.contains(doubt);
        !self.is_lost && self.new.iter().any(is_certain)
    }
}

impl Trace<'_> {
    /// The fate of the new name of `set` in `links`. If `links` is `None`, all links that have
    /// archives of the set count.
    pub fn fate(&self, set: &Set, links: Option<&Links>) -> Fate {
        if self.gave_up {
            return Fate::Unknown;
        }
        let found = match links {
            Some(links) => links.sets.get(&set.number).map(std::slice::from_ref),
            None => self.all.get_or_init(|| self.each()).get(&set.number).map(Vec::as_slice),
        };
        let found = found.unwrap_or_default();
        let losses = self.losses.get(&set.number).copied().unwrap_or_default();
        if found.iter().any(Found::is_certain) {
            return Fate::Kept;
        }
        let is_gone = found.iter().all(|found| found.new.is_empty());
        if is_gone && self.elsewhere.contains(&set.number) {
            return Fate::Elsewhere;
        }
        match losses {
            Losses { certain: Some(line), possible: None } if is_gone => Fate::Removed(line),
            Losses { certain: Some(line), .. } | Losses { possible: Some(line), .. } => {
                Fate::MayBeRemoved(line)
            }
            Losses { .. } => Fate::Unknown,
        }
    }

    /// True if the trace followed all commands of the file.
    pub fn is_whole(&self) -> bool {
        !self.gave_up
    }

    /// True if the command of `set` runs several times and adds its values to the same variable.
    pub fn is_repeated(&self, set: &Set) -> bool {
        self.repeated.contains(&set.number)
    }

    /// True if `links` may get the archives of `sets` under other conditions, from another set. New
    /// names in `sets` then have no effect under these conditions.
    pub fn is_partial(&self, sets: &[&Set], links: &Links) -> bool {
        let is_own = |number: usize| sets.iter().any(|set| set.number == number);
        let own = links.sets.iter().filter(|(number, _)| is_own(**number));
        let new: FastSet<u64> = own.flat_map(|(_, found)| found.new.iter().copied()).collect();
        let is_covered = |(number, doubt): &(usize, u64)| is_own(*number) || new.contains(doubt);
        let is_partial = |from: &FastSet<(usize, u64)>| {
            from.iter().any(|(number, _)| is_own(*number)) && !from.iter().all(is_covered)
        };
        !new.contains(&0) && links.archives.values().any(is_partial)
    }

    /// The targets to which link commands of the file add values. A target appears once for each
    /// scope. The list includes the names under which values for all targets are stored, such as
    /// `link_libraries`.
    pub fn targets(&self) -> impl Iterator<Item = &[u8]> {
        let named = self.state.links.keys().filter(|(name, _)| !name.is_empty());
        named.map(|(name, _)| name.as_slice())
    }

    /// For each set, the words of the set in the links of each target. If no target links the set,
    /// other files or unknown commands may link its words. The words of the set in variables and in
    /// the links of unknown targets are used then.
    fn each(&self) -> FastMap<usize, Vec<Found>> {
        let mut out: FastMap<usize, Vec<Found>> = FastMap::default();
        let targets: FastSet<&[u8]> = self.targets().collect();
        for target in targets {
            for (set, found) in self.direct(target).sets {
                out.entry(set).or_default().push(found);
            }
        }
        let mut elsewhere = self.unknown_links();
        let mut lost: FastSet<usize> = FastSet::default();
        for value in self.state.values() {
            let mut own = Links::default();
            for word in value.iter() {
                elsewhere.add(word);
                own.add(word);
            }
            let is_lost = |found: &Found| !found.siblings.is_empty() && !found.is_certain();
            let own = own.sets.into_iter().filter(|(_, found)| is_lost(found));
            lost.extend(own.map(|(set, _)| set).filter(|set| self.losses.contains_key(set)));
        }
        for (set, mut found) in elsewhere.sets {
            found.is_lost = lost.contains(&set);
            out.entry(set).or_insert_with(|| vec![found]);
        }
        out
    }

    /// The words that unknown commands may link, and those of links with unknown targets.
    pub fn unknown_links(&self) -> Links {
        self.direct(b"")
    }

    /// The words that commands give to the target itself, without the words of the targets that
    /// this target links.
    fn direct(&self, target: &[u8]) -> Links {
        let mut links = Links::default();
        for word in Scope::ALL.iter().flat_map(|scope| self.state.link(target, *scope)) {
            // It is unknown if a target is created after `link_libraries()`.
            links.add(&if target == LINK_LIBRARIES { word.apart(8) } else { word.clone() });
        }
        links
    }
}
