//! Resolving and binding once more, on a model with some objects changed: what a fix would lead to.
//! The same code runs on a [`View`](crate::facts::View) with edits; only the roots that load a
//! changed object are looked at. `fix::prove` is the caller.

use super::binding::{Bound, Resolved};
use super::{Audit, EntryPoints, binding, hosts, resolve, source};
use crate::blame::{self, Claims, Explanations, Lent, Undefined};
use crate::facts::collect::Collector;
use crate::facts::{Edits, Need, View};
use crate::id::{FileId, RootId};
use crate::plan::Plan;
use crate::resolve::candidate::Start;
use crate::resolve::resolver::Resolver;
use crate::tree::Tree;
use std::collections::BTreeSet;

/// An error of a load, by what it is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Fault {
    /// The object that has it.
    pub file: FileId,
    /// What kind it is.
    pub kind: &'static str,
    /// The library, symbol, version or object.
    pub name: Vec<u8>,
    /// The symbol's version, or the loader's words.
    pub detail: Option<Vec<u8>>,
}

impl Fault {
    /// A fault of `file`.
    pub fn new(file: FileId, kind: &'static str, name: &[u8], detail: Option<&[u8]>) -> Self {
        Self { file, kind, name: name.to_vec(), detail: detail.map(<[u8]>::to_vec) }
    }
}

impl Audit {
    /// What goes wrong, as of `blame`.
    pub fn faults(blame: &blame::Blame) -> BTreeSet<Fault> {
        let mut out: BTreeSet<Fault> = BTreeSet::new();
        for missing in &blame.missing {
            out.insert(Fault::new(missing.file, "missing", &missing.name, None));
            let explained = missing.explained.iter();
            out.extend(explained.map(|(file, symbol, version)| {
                Fault::new(*file, "explained", symbol, version.as_deref())
            }));
        }
        let undefined = blame.undefined.iter();
        out.extend(
            undefined.map(|u| Fault::new(u.file, "undefined", &u.symbol, u.version.as_deref())),
        );
        let versions = blame.versions.iter();
        out.extend(versions.map(|v| Fault::new(v.file, "version", &v.version, None)));
        let stopped = blame.stopped.iter();
        out.extend(
            stopped.map(|s| Fault::new(s.file, "stopped", &s.object, Some(s.text.as_bytes()))),
        );
        out
    }

    /// Reads what an edit of these files needs: their tables and relocations.
    pub fn read_for_edits(&mut self, plan: &Plan, tree: &dyn Tree, files: &[FileId]) {
        let needs = files.iter().flat_map(|file| {
            let bare = self.corpus.files[*file].object().is_some_and(|o| o.tables.is_none());
            let tables = bare.then_some(Need::Tables(*file));
            let relocations = self.corpus.relocations(*file).err();
            tables.into_iter().chain(relocations)
        });
        let needs: Vec<Need> = needs.collect();
        Collector::new(tree, plan.reading()).answer(&mut self.corpus, needs);
    }

    /// What goes wrong under all roots that load an edited object, with the edits.
    pub fn again(&mut self, plan: &Plan, tree: &dyn Tree, edits: &Edits) -> BTreeSet<Fault> {
        let roots = self.roots_with(edits).map(|root| {
            let root = &self.closures.roots[root].root;
            let path = self.resolver.strings.text(root.path).to_vec();
            (root.host.is_none(), Start { file: root.file, path })
        });
        // What a program opens is a plugin again; anything else starts by itself.
        let (given, walked): (Vec<_>, Vec<_>) = roots.partition(|(by_itself, _)| *by_itself);
        let only = |list: Vec<(bool, Start)>| list.into_iter().map(|(_, start)| start).collect();
        let plan = Plan { facts: false, ..plan.clone() };
        let mut collector = Collector::new(tree, plan.reading());
        let mut resolver = Resolver::default();
        let corpus = &mut self.corpus;
        let hosts = hosts(&plan, corpus, &mut collector, &self.prefixes);
        let entries = EntryPoints { given: only(given), walked: only(walked), hosts };
        let closures = resolve(&plan, corpus, edits, &mut collector, &mut resolver, entries);
        let resolved = Resolved { resolver: &resolver, closures: &closures };
        let bindings = binding::bind(&plan, corpus, edits, &mut collector, resolved);
        let view = View::edited(corpus, edits);
        let bound =
            Bound { resolver: &resolver, closures: &closures, bindings: &bindings.entry_points };
        let source = source(&plan, &self.prefixes, view, bound);
        let lent = Lent::find(source);
        let explanations = Explanations {
            claims: Claims { providers: &self.providers, policy: &plan.policy },
            libraries: &self.libraries,
            inferred: &self.inferred,
            lent: &lent,
        };
        Self::faults(&blame::blame(source, &Undefined::find(source), explanations))
    }

    fn roots_with<'a>(&'a self, edits: &'a Edits) -> impl Iterator<Item = RootId> + 'a {
        let loads = |closure: &crate::resolve::Closure| {
            closure.found().any(|(_, file)| edits.contains_key(&file))
        };
        self.closures.roots.entries().filter(move |(_, c)| loads(c)).map(|(root, _)| root)
    }
}
