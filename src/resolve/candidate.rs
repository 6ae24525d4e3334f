//! A candidate for an entry point, with its closure. The candidate is a file that is started by its
//! path, or that a host program opens. `entry_points` holds the candidates and decides which become
//! entry points.

use super::hosts::HostProgram;
use super::loader::{InterpreterDefect, LoaderChoice, NoLoader};
use super::resolver::{Resolver, Suspended, has_relative_loader};
use super::start::Start;
use super::{Closure, EntryPoint};
use crate::facts::{FactStore, Need};
use crate::id::{FastMap, FileId, LoaderId, StrId};
use crate::plan::Plan;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

/// Programs whose PT_INTERP cannot be used, each with the reason.
pub(super) type BadInterps = FastMap<FileId, InterpreterDefect>;

/// The state and inputs of one round of resolving. No fact is added during a round.
pub struct Round<'r> {
    /// State shared by all entry points.
    pub resolver: &'r mut Resolver,
    /// Facts about all files read so far.
    pub store: &'r dyn FactStore,
    /// The plan of the run.
    pub plan: &'r Plan,
}

impl Round<'_> {
    /// Resolves an entry point. `host`, if given, is the closure of the program that opens the
    /// entry point with dlopen. If facts are missing, returns them as `Err` and stores the
    /// suspended link map in `before`.
    pub(super) fn closure(
        &mut self,
        root: EntryPoint,
        host: Option<&Arc<Closure>>,
        before: &mut Option<Suspended>,
    ) -> Result<Closure, Vec<Need>> {
        self.resolver.closure(self.store, self.plan, root, host, before)
    }
}

/// A candidate for an entry point, and its resolution.
pub(super) struct EntryPointCandidate {
    pub(super) start: Start,
    /// Index of the host program in `HostPrograms::list`, if the file is resolved as a plugin.
    pub(super) host: Option<usize>,
    /// The chosen loader, and the path by which that loader starts the file; `None` until the
    /// loader is chosen.
    pub(super) chosen: Option<(LoaderId, StrId)>,
    /// The suspended link map, if a fact was missing.
    before: Option<Suspended>,
    pub(super) outcome: Option<Resolution>,
}

pub(super) enum Resolution {
    Closure(Box<Closure>),
    NoLoader(NoLoader),
    /// The host program stops before it opens the plugin.
    Stopped,
}

impl EntryPointCandidate {
    /// A file that is started directly.
    pub(super) fn new(start: Start) -> Self {
        Self { start, host: None, chosen: None, before: None, outcome: None }
    }

    /// A file that a host program opens.
    pub(super) fn plugin(start: Start, host: usize) -> Self {
        Self { host: Some(host), ..Self::new(start) }
    }

    pub(super) fn closure(&self) -> Option<&Closure> {
        match &self.outcome {
            Some(Resolution::Closure(closure)) => Some(closure),
            _ => None,
        }
    }

    fn files(&self) -> impl Iterator<Item = FileId> + '_ {
        self.closure().into_iter().flat_map(|closure| closure.found().map(|(_, file)| file))
    }

    /// The files that the candidate's closure loads besides the candidate's own file. Empty until
    /// the candidate is resolved.
    pub(super) fn loads(&self) -> impl Iterator<Item = FileId> + '_ {
        self.files().filter(|file| *file != self.start.file)
    }

    /// Resolves the candidate as a plugin. `host` is the closure of its host program, or `None` if
    /// that program does not start.
    pub(super) fn open(
        &mut self,
        round: &mut Round<'_>,
        host: Option<&Arc<Closure>>,
        needs: &mut Vec<Need>,
    ) {
        let Some(host) = host else {
            self.outcome = Some(Resolution::Stopped);
            return;
        };
        let root = EntryPoint {
            file: self.start.file,
            path: round.resolver.strings.id(&self.start.path),
            loader: host.root.loader,
            host: Some(host.root.file),
        };
        match round.closure(root, Some(host), &mut self.before) {
            Ok(closure) => self.outcome = Some(Resolution::Closure(Box::new(closure))),
            Err(missing) => needs.extend(missing),
        }
    }

    /// Sort key among entry points: the path of the file, the name by which the file is started,
    /// and the path of the host program.
    pub(super) fn key<'a>(
        &'a self,
        store: &'a dyn FactStore,
        hosts: &'a [HostProgram],
    ) -> impl Ord + use<'a> {
        let host = self.host.and_then(|host| hosts.get(host));
        let real = |file: FileId| store.file(file).path.as_os_str().as_bytes();
        (real(self.start.file), &*self.start.path, host.map(|host| real(host.file)))
    }
}

/// Resolves a candidate that is started directly.
pub(super) fn resolve(
    round: &mut Round<'_>,
    candidate: &mut EntryPointCandidate,
    bad_interps: &mut BadInterps,
    needs: &mut Vec<Need>,
) {
    choose_loader(round, candidate, bad_interps, needs);
    let Some((loader, path)) = candidate.chosen else { return };
    let root = EntryPoint { file: candidate.start.file, path, loader, host: None };
    match round.closure(root, None, &mut candidate.before) {
        Ok(closure) => candidate.outcome = Some(Resolution::Closure(Box::new(closure))),
        Err(missing) => needs.extend(missing),
    }
}

/// Chooses the loader of a candidate that is started directly, unless it was chosen before.
pub(super) fn choose_loader(
    round: &mut Round<'_>,
    candidate: &mut EntryPointCandidate,
    bad_interps: &mut BadInterps,
    needs: &mut Vec<Need>,
) {
    if candidate.chosen.is_some() {
        return;
    }
    let Start { file, path } = &candidate.start;
    match choose(round, *file, path) {
        Err(missing) => needs.extend(missing),
        Ok(LoaderChoice { loader: Err(why), .. }) => {
            candidate.outcome = Some(Resolution::NoLoader(why));
        }
        Ok(LoaderChoice { loader: Ok(loader), interp }) => {
            // Without `--cwd`, the rule `undecided` reports a relative path.
            let is_decided =
                round.plan.cwd_stated || !has_relative_loader(round.store, round.plan, *file);
            if let Some(fault) = interp.filter(|_| is_decided) {
                bad_interps.insert(*file, fault);
            }
            candidate.chosen = Some((loader, round.resolver.strings.id(path)));
        }
    }
}

fn choose(round: &mut Round<'_>, file: FileId, path: &[u8]) -> Result<LoaderChoice, Vec<Need>> {
    let Round { resolver, store, plan } = round;
    let Some(object) = store.object(file) else {
        return Ok(LoaderChoice { loader: Err(NoLoader::UnknownMachine), interp: None });
    };
    let dirs = match object.interp {
        None if !plan.as_ldd => resolver.own_dirs(object, path, plan),
        _ => Vec::new(),
    };
    let Resolver { loaders, strings, .. } = &mut **resolver;
    // Request all directories at once: one at a time would take one round each.
    let texts = dirs.iter().map(|dir| strings.text(*dir)).filter(|dir| dir.starts_with(b"/"));
    let unknown: Vec<Need> = texts.filter_map(|dir| store.is_directory(dir).err()).collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    loaders.choose(*store, plan, strings, object, &dirs).map_err(|need| vec![need])
}
