//! What holds for all roots of a run: strings, loaders, names of objects and results of searches.
//! `roots` and `audit` ask it for closures; `closure` builds them.

use super::closure::{Builder, Built};
use super::index::Stamped;
use super::loader::{Family, Loaders};
use super::musl::Load;
use super::paths::Memo;
use super::suspend::Suspended;
use super::trace::{Trace, Tried};
use super::{Closure, Edge, Links, Root, tokens};
use crate::facts::{Need, View};
use crate::format::elf::{NeedKind, Object, Str};
use crate::id::{FastMap, FastSet, FileId, Id as _, LoaderId, StrId, Strings};
use crate::plan::Plan;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

/// What decides about the links of a root without any search path or token of its own: its loader,
/// PT_INTERP, DT_SONAME and needs.
type Signature = (Option<StrId>, Option<StrId>, Box<[(NeedKind, StrId)]>);

/// Names of one object as string ids, made once a run.
pub(super) struct Names {
    /// The number of its signature, if it has one.
    signature: Option<u32>,
    pub(super) needs: Vec<(NeedKind, StrId, bool)>,
    pub(super) interp: Option<StrId>,
    pub(super) soname: Option<StrId>,
    pub(super) rpath: Option<StrId>,
    pub(super) runpath: Option<StrId>,
}

/// Resolves roots one after the other; what holds for all of them is remembered.
#[derive(Default)]
pub struct Resolver {
    /// All strings of closures.
    pub strings: Strings,
    /// All loaders.
    pub loaders: Loaders,
    names: Vec<Option<Arc<Names>>>,
    signatures: FastMap<Signature, u32>,
    /// Links that roots with one signature share.
    shared: FastMap<(LoaderId, u32), Arc<Links>>,
    /// Those of whose links somebody has asked in this round for what is missing.
    waiting: FastSet<(LoaderId, u32)>,
    pub(super) memo: Memo,
    pub(super) by_name: Stamped,
    pub(super) by_file: Stamped,
}

impl Resolver {
    /// The directories of an object's own RPATH or RUNPATH, as its loader's choice needs them:
    /// before a loader is known, `$LIB` and `$PLATFORM` have no value.
    pub fn own_dirs(&mut self, object: &Object, path: &[u8], plan: &Plan) -> Vec<StrId> {
        let Some(list) = object.runpath.or(object.rpath) else { return Vec::new() };
        let origin = tokens::origin(path, plan.cwd.as_os_str().as_bytes());
        let values = tokens::Tokens { origin: &origin, lib: b"lib", platform: None };
        object
            .str(list)
            .split(|b| *b == b':')
            .filter_map(|element| tokens::expand(element, values))
            .filter(|dir| !dir.is_empty())
            .map(|mut dir| {
                if !dir.ends_with(b"/") {
                    dir.push(b'/');
                }
                self.strings.id(&dir)
            })
            .collect()
    }

    pub(super) fn names(&mut self, file: FileId, object: &Object) -> Arc<Names> {
        if let Some(Some(names)) = self.names.get(file.index()) {
            return Arc::clone(names);
        }
        let strings = &mut self.strings;
        let needs: Vec<(NeedKind, StrId, bool)> = object
            .needs
            .iter()
            .map(|need| {
                let text = object.str(need.name);
                (need.kind, strings.id(text), text.contains(&b'$'))
            })
            .collect();
        let mut id = |s: Option<Str>| s.map(|s| strings.id(object.str(s)));
        let (soname, rpath, runpath) = (id(object.soname), id(object.rpath), id(object.runpath));
        let interp = id(object.interp);
        let plain = rpath.is_none() && runpath.is_none() && !object.nodeflib;
        let signature = (plain && needs.iter().all(|(.., token)| !token)).then(|| {
            let next = u32::try_from(self.signatures.len()).unwrap_or(u32::MAX);
            let needs = needs.iter().map(|(kind, name, _)| (*kind, *name)).collect();
            *self.signatures.entry((interp, soname, needs)).or_insert(next)
        });
        let names = Arc::new(Names { signature, needs, interp, soname, rpath, runpath });
        if file.index() >= self.names.len() {
            self.names.resize(file.index() + 1, None);
        }
        self.names[file.index()] = Some(Arc::clone(&names));
        names
    }

    /// Everything the loader maps for `root`, which `host` opens if there is one, or the facts that are missing to say it: none if a root
    /// with the same links has named them in this round. What was
    /// found out so far stays in `before` until the next round.
    pub fn closure(
        &mut self,
        view: View<'_>,
        plan: &Plan,
        root: Root,
        host: Option<&Arc<Closure>>,
        before: &mut Option<Box<Suspended>>,
    ) -> Result<Closure, Vec<Need>> {
        let names = view.object(root.file).map(|object| self.names(root.file, object));
        let varies = plan.environment_varies() || self.loaders.get(root.loader).package_cache;
        let alone = plan.reuse && !varies && host.is_none();
        let signature = names.and_then(|names| names.signature).filter(|_| alone);
        let key = signature.map(|number| (root.loader, number));
        if let Some(links) = key.and_then(|key| self.shared.get(&key)) {
            return Ok(Closure::new(root, Arc::clone(links)));
        }
        if key.is_some_and(|key| self.waiting.contains(&key)) {
            return Err(Vec::new());
        }
        let mut needs = Vec::new();
        if let Family::Musl(_) = self.loaders.get(root.loader).family {
            let load = Load::new(self, view, plan, root, &mut needs);
            let links = match host {
                Some(host) => load.run_plugin(host),
                None => load.run(),
            };
            let links = links.ok_or(needs)?;
            return Ok(self.share(root, key, Arc::new(links)));
        }
        let built = match before.take() {
            Some(before) => Builder::resume(self, view, plan, &mut needs, *before).go_on(),
            None => Builder::new(self, view, plan, root, host.cloned(), &mut needs).run(),
        };
        let links = match built {
            Built::Links(links) => Arc::new(*links),
            Built::Suspended(state) => {
                *before = state;
                self.waiting.extend(key);
                return Err(needs);
            }
        };
        Ok(self.share(root, key, links))
    }

    fn share(&mut self, root: Root, key: Option<(LoaderId, u32)>, links: Arc<Links>) -> Closure {
        // With something missing, which versions the loader knows depends on the root.
        if let Some(key) = key.filter(|_| !links.lacks_any()) {
            self.shared.insert(key, Arc::clone(&links));
        }
        Closure::new(root, links)
    }

    /// Facts that were missing have been read.
    pub fn new_round(&mut self) {
        self.memo.new_round();
        self.waiting.clear();
    }

    /// What is tried for some needs of one root, for evidence. All facts are known.
    pub fn tried(
        &mut self,
        view: View<'_>,
        plan: &Plan,
        closure: &Closure,
        edges: &[Edge],
    ) -> Vec<Vec<Tried>> {
        let mut needs = Vec::new();
        let trace = || Trace::of_one_in(edges.len());
        if let Family::Musl(_) = self.loaders.get(closure.root.loader).family {
            let modules = closure.all_modules();
            return edges
                .iter()
                .map(|edge| {
                    let mut trace = trace();
                    let load = Load::new(self, view, plan, closure.root, &mut needs);
                    load.tried(modules.clone(), edge.name, edge.from, &mut trace);
                    trace.kept
                })
                .collect();
        }
        let base = closure.host().cloned();
        let mut builder = Builder::new(self, view, plan, closure.root, base, &mut needs);
        builder.modules = closure.all_modules();
        builder.start = closure.start();
        builder.has_rpath = true;
        edges
            .iter()
            .map(|edge| {
                let mut trace = trace();
                builder.search(edge.name, edge.from, Some(&mut trace));
                trace.kept
            })
            .collect()
    }
}
