//! The effect of a later policy on earlier ones. Tables are merged by key, lists are appended, and
//! values that form a unit (`targets`, `allow`) are replaced.

use super::{
    ArchivePolicy, ForbiddenLibrary, HostEntry, LevelSetting, Origin, Pattern, Policy, Provided,
    ProviderEntry, RequiredFile, RequiredPackage, SymbolAt, Waiver, show,
};
use crate::id::{FastMap, FastSet};
use crate::order::{self, Arrange as _};
use hashbrown::hash_map::Entry as MapEntry;
use std::collections::{BTreeMap, btree_map};

impl Policy {
    /// Merges a later policy into this one.
    pub(super) fn append(&mut self, later: Self) {
        self.sources.extend(later.sources);
        self.renamed.extend(later.renamed);
        self.set(later.levels);
        put_last(&mut self.version_limits, later.version_limits, |limit| limit.family.clone());
        self.append_waivers(later.waivers);
        unite(&mut self.hosts, later.hosts, host_key);
        unite(&mut self.archives, later.archives, show::archive_text);
        unite(&mut self.required_files, later.required_files, |file| file.path.text().to_owned());
        self.required_files.arrange_by(|a, b| a.list.cmp(&b.list));
        unite(&mut self.required_packages, later.required_packages, |package| {
            (package.name.clone(), package.components.clone())
        });
        unite(&mut self.required_symbols, later.required_symbols, demand);
        unite(&mut self.forbidden_symbols, later.forbidden_symbols, demand);
        unite(&mut self.forbidden_libraries, later.forbidden_libraries, |library| {
            library.name.text().to_owned()
        });
        unite(&mut self.providers, later.providers, |provider| {
            let path = provider.path.as_ref().map(|path| path.text().to_owned());
            (provider.symbol.clone(), provider.archive.clone(), provider.list.clone(), path)
        });
        unite(&mut self.provided, later.provided, |provided| provided.soname.clone());
        replace(&mut self.provided_only, later.provided_only);
        for platform in later.platforms {
            if !self.platforms.iter().any(|earlier| earlier.asked_name() == platform.asked_name()) {
                self.platforms.push(platform);
            }
        }
        replace(&mut self.search_path.require, later.search_path.require);
        replace(&mut self.search_path.allow, later.search_path.allow);
        replace(&mut self.gpu.targets, later.gpu.targets);
        replace(&mut self.gpu.exact, later.gpu.exact);
        replace(&mut self.gpu.loader, later.gpu.loader);
    }

    /// Adds settings of levels. Each overrides earlier settings with the same name.
    pub fn set(&mut self, levels: Vec<LevelSetting>) {
        put_last(&mut self.levels, levels, |setting| setting.name.clone());
    }

    /// Appends the waivers of a later policy. A waiver with the same rule and selectors as an
    /// earlier waiver replaces the earlier one. Identical waivers become one.
    fn append_waivers(&mut self, later: Vec<Waiver>) {
        if later.is_empty() {
            return;
        }
        let places = self.waivers.iter().enumerate();
        let mut known: FastMap<Selection, usize> =
            places.map(|(at, waiver)| (waiver.selection(), at)).collect();
        for waiver in later {
            match known.entry(waiver.selection()) {
                MapEntry::Occupied(at) => {
                    let earlier = &mut self.waivers[*at.get()];
                    if earlier.says_as(&waiver) {
                        let origin = waiver.origin.min(earlier.origin.clone());
                        earlier.origin = origin;
                    } else {
                        *earlier = waiver;
                    }
                }
                MapEntry::Vacant(place) => {
                    place.insert(self.waivers.len());
                    self.waivers.push(waiver);
                }
            }
        }
    }
}

/// A rule and the selectors of a waiver.
type Selection = (String, Vec<(&'static str, String)>);

impl Waiver {
    fn selection(&self) -> Selection {
        let selectors = self.selectors().map(|(key, pattern)| (key, pattern.text().to_owned()));
        (self.rule.clone(), selectors.collect())
    }

    /// True if reason and expiry are the same.
    fn says_as(&self, other: &Self) -> bool {
        (&self.reason, self.expires) == (&other.reason, other.expires)
    }
}

/// Appends `more`. If several entries have the same key, only the last stays, at its position.
fn put_last<T>(all: &mut Vec<T>, more: Vec<T>, key: impl Fn(&T) -> String) {
    all.extend(more);
    let mut seen = FastSet::default();
    let mut kept: Vec<T> = all.drain(..).rev().filter(|entry| seen.insert(key(entry))).collect();
    kept.reverse();
    *all = kept;
}

/// The key of a required or forbidden symbol.
fn demand(symbol: &SymbolAt) -> [String; 3] {
    let text =
        |pattern: &Option<Pattern>| pattern.as_ref().map(|pattern| pattern.text().to_owned());
    let [path, library] = [&symbol.path, &symbol.library].map(|p| text(p).unwrap_or_default());
    [path, library, symbol.symbol.text().to_owned()]
}

/// All that an entry says about a host, except its origin.
fn host_key(host: &HostEntry) -> impl Ord + use<> {
    let lists = [&host.plugins, &host.exports, &host.symbols];
    let texts = |list: &Vec<Pattern>| list.iter().map(|one| one.text().to_owned()).collect();
    let lists: [Vec<String>; 3] = lists.map(texts);
    (host.name.clone(), lists, host.executable.clone(), host.loads.clone(), host.list.clone())
}

/// Adds entries with new keys. If two entries have the same key, the entry whose origin sorts first
/// stays, so that the order of policies does not matter.
fn unite<T: ListEntry, K: Ord>(all: &mut Vec<T>, more: Vec<T>, key: impl Fn(&T) -> K) {
    if more.is_empty() {
        return;
    }
    let mut seen: BTreeMap<K, usize> =
        order::map(all.iter().enumerate().map(|(at, item)| (key(item), at)));
    for item in more {
        match seen.entry(key(&item)) {
            btree_map::Entry::Occupied(at) => {
                let known = &mut all[*at.get()];
                if item.origin() < known.origin() {
                    *known = item;
                }
            }
            btree_map::Entry::Vacant(place) => {
                place.insert(all.len());
                all.push(item);
            }
        }
    }
}

/// An entry of a list in policies.
trait ListEntry {
    /// The source and line of the entry.
    fn origin(&self) -> &Origin;
}

macro_rules! entries {
    ($($kind:ty),*) => {
        $(impl ListEntry for $kind {
            fn origin(&self) -> &Origin {
                &self.origin
            }
        })*
    };
}

entries!(
    HostEntry,
    ArchivePolicy,
    RequiredFile,
    RequiredPackage,
    SymbolAt,
    ForbiddenLibrary,
    ProviderEntry,
    Provided
);

fn replace<T>(value: &mut Option<T>, later: Option<T>) {
    if later.is_some() {
        *value = later;
    }
}
