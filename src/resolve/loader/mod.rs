//! Chooses the loader of each entry point, and stores the rules of each loader: its directories,
//! cache, preload list and release. `read` gets the rules from the loader's binary, its
//! configuration files and its libc.

mod assumed;
pub(super) mod config;
mod read;
mod rules;

pub use config::ConfigDefect;
pub use rules::{Family, Loader, NoLoader};

use super::MachineRow;
use super::musl::names::arches;
use crate::facts::{FactStore, Need, PathState};
use crate::format::elf::{LoaderReaction, Object, Target, machine};
use crate::id::{FastMap, FileId, IdVec, LoaderId, StrId, Strings};
use crate::plan::{LoaderRules, Plan};
use crate::policy::Libc;
use crate::text::last_part;
use rules::file_for;

/// The reason why the loader that PT_INTERP names cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterpreterDefect {
    /// The path does not exist or cannot be opened.
    Absent,
    /// The file is for another class or machine.
    WrongArchitecture,
    /// The file cannot be a loader. The text is the reason.
    NoLoader(&'static str),
}

/// The choice of the loader of an entry point.
#[derive(Clone, Copy, Debug)]
pub struct LoaderChoice {
    /// The loader, or the reason why the entry point has none.
    pub loader: Result<LoaderId, NoLoader>,
    /// The reason why the program's PT_INTERP cannot be used: `loader` is then the system's loader
    /// or an assumed one. `None` if PT_INTERP is usable, absent or ignored.
    pub interp: Option<InterpreterDefect>,
}

/// All loaders of a run, each read once.
#[derive(Default)]
pub struct Loaders {
    list: IdVec<LoaderId, Loader>,
    by_path: FastMap<(StrId, Target), Result<LoaderId, NoLoader>>,
    /// The choice for each PT_INTERP, cached because most programs have the same PT_INTERP.
    by_interp: FastMap<(StrId, Target), LoaderChoice>,
    /// Loaders that were assumed without a binary, by path and target.
    assumed: FastMap<(StrId, Target), LoaderId>,
    /// The system's loader for each target.
    of_system: FastMap<Target, Result<LoaderId, NoLoader>>,
}

impl Loaders {
    /// Ids of all loaders.
    pub(super) fn ids(&self) -> impl Iterator<Item = LoaderId> + use<> {
        self.list.ids()
    }

    /// The loader with this id.
    pub fn get(&self, id: LoaderId) -> &Loader {
        &self.list[id]
    }

    /// Chooses the loader of `object`. `run_path` has the directories of the object's DT_RUNPATH or
    /// DT_RPATH. If the loader cannot be used, the system's loader replaces it, or else an assumed
    /// loader. The replacement must belong to the C library of the object. `--loader`, PT_INTERP,
    /// the needs or the policy's platforms determine this C library, in this order. If the policy
    /// is not a whitelist, the assumed loader searches only LD_LIBRARY_PATH and the search paths of
    /// objects. Under such a policy, `ldd` gets no assumed loader, because it runs a real one.
    pub fn choose(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        strings: &mut Strings,
        object: &Object,
        run_path: &[StrId],
    ) -> Result<LoaderChoice, Need> {
        let choice = self.find(store, plan, strings, object, run_path)?;
        let is_absent = match choice.loader {
            Err(NoLoader::NotHere) => true,
            Err(NoLoader::UnknownFamily) => object.interp.is_none(),
            Ok(loader) => {
                let is_replaced = choice.interp.is_some() || plan.loader.is_some();
                let libc = expected_libc(plan, object).filter(|_| is_replaced && !plan.as_ldd);
                libc.is_some_and(|libc| libc != self.get(loader).libc())
            }
            Err(_) => false,
        };
        let machine = machine::of(object.header.target());
        let is_closed = plan.policy.is_closed();
        match machine.filter(|_| is_absent && (is_closed || !plan.every_file_is_root)) {
            Some(machine) => {
                let loader = self.assumed(plan, strings, object, machine);
                // If the policy is not a whitelist and this system has no loader for the object,
                // the object is for another system, whose files are absent. Its PT_INTERP is then
                // not a defect.
                let interp = choice.interp.filter(|_| is_closed || choice.loader.is_ok());
                Ok(LoaderChoice { loader: Ok(loader), interp })
            }
            None => Ok(choice),
        }
    }

    /// The assumed loader for the object's machine and C library.
    fn assumed(
        &mut self,
        plan: &Plan,
        strings: &mut Strings,
        object: &Object,
        machine: MachineRow,
    ) -> LoaderId {
        let target = machine.canonical(object.header.target());
        let libc = assumed::libc(plan, object, expected_libc(plan, object));
        let path = match (libc, machine.loaders.first()) {
            (Libc::Glibc, Some(path)) => (*path).to_owned(),
            (Libc::Glibc, None) => "/lib/ld.so.1".to_owned(),
            (Libc::Musl, _) => {
                let arch = arches(machine.name).iter().next().copied().unwrap_or(machine.name);
                format!("/lib/ld-musl-{arch}.so.1")
            }
        };
        let path = strings.id(path.as_bytes());
        let known = self.assumed.get(&(path, target)).copied();
        known.unwrap_or_else(|| {
            let mut loader = assumed::loader(plan, strings, path, target, machine, libc);
            if !plan.policy.is_closed() {
                // The default directories belong to another system. On this system, they may hold
                // other libraries.
                loader.system_dirs.clear();
                loader.is_absent = true;
            }
            let id = self.list.push(loader);
            self.assumed.insert((path, target), id);
            id
        })
    }

    fn find(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        strings: &mut Strings,
        object: &Object,
        run_path: &[StrId],
    ) -> Result<LoaderChoice, Need> {
        let target = object.header.target();
        let found = |loader| LoaderChoice { loader, interp: None };
        // The kernel maps a program that has PT_INTERP, so the loader does not check it again. The
        // kernel, too, refuses misaligned segments (fs/binfmt_elf.c, elf_map).
        let is_mapped_by_kernel = !plan.as_ldd && object.interp.is_some();
        let refused =
            if is_mapped_by_kernel { object.unmappable } else { object.refused_as_main() };
        if let Some(text) = refused {
            return Ok(found(Err(NoLoader::Refused(text))));
        }
        let Some(machine) = machine::of(target) else {
            return Ok(found(Err(NoLoader::UnknownMachine)));
        };
        if plan.loader == Some(LoaderRules::Musl) {
            return Ok(found(self.musl(store, plan, strings, object, target, machine)?));
        }
        if plan.as_ldd {
            return Ok(found(self.system(store, plan, strings, target, machine)?));
        }
        if let Some(interp) = object.interp() {
            let key = (strings.id(interp), target);
            if let Some(known) = self.by_interp.get(&key) {
                return Ok(*known);
            }
            let choice = self.named(store, plan, strings, key, machine)?;
            self.by_interp.insert(key, choice);
            return Ok(choice);
        }
        if plan.loader.is_none() && needs_musl(object) {
            let musl = self.musl_of_system(store, plan, strings, target, machine)?;
            return Ok(found(musl.unwrap_or(Err(NoLoader::UnknownFamily))));
        }
        for dir in run_path {
            if let Some(path) = beside_libc(store, strings, *dir, target, machine)? {
                return Ok(found(self.at(store, plan, strings, path, target, machine)?));
            }
        }
        Ok(found(self.system(store, plan, strings, target, machine)?))
    }

    /// The choice for a program whose PT_INTERP is `path`.
    fn named(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        strings: &mut Strings,
        (path, target): (StrId, Target),
        machine: MachineRow,
    ) -> Result<LoaderChoice, Need> {
        let interp = strings.text(path);
        let found = file_for(store, interp, target)?;
        // The kernel maps the loader, but not the libraries that it needs (fs/binfmt_elf.c,
        // load_elf_interp).
        let needs = |file: FileId| store.object(file).is_some_and(|own| !own.needs.is_empty());
        let fault = match found {
            None => Some(interp_fault(store, interp, target)),
            Some(file) if needs(file) => Some(InterpreterDefect::NoLoader("it needs libraries")),
            Some(_) => None,
        };
        let Some(file) = found.filter(|_| fault.is_none()) else {
            let is_musl = plan.loader.is_none() && Libc::Musl.has_loader(last_part(interp));
            let musl = if is_musl {
                self.musl_of_system(store, plan, strings, target, machine)?
            } else {
                None
            };
            let loader = match musl {
                Some(musl) => musl,
                None => self.system(store, plan, strings, target, machine)?,
            };
            return Ok(LoaderChoice { loader, interp: fault });
        };
        // If `--loader` is set here, it asks for rules other than musl's. The system's loader then
        // replaces musl's.
        let other = plan.loader.is_some() && store.interpreter(file)?.musl.is_some();
        let loader = if other {
            self.system(store, plan, strings, target, machine)?
        } else {
            self.at(store, plan, strings, path, target, machine)?
        };
        Ok(LoaderChoice { loader, interp: None })
    }

    /// The loader that `ldd` of the audited system runs for objects of `target`; the error says why
    /// there is none.
    fn system(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        strings: &mut Strings,
        target: Target,
        machine: MachineRow,
    ) -> Result<Result<LoaderId, NoLoader>, Need> {
        if let Some(known) = self.of_system.get(&target) {
            return Ok(*known);
        }
        let found = self.find_system(store, plan, strings, target, machine)?;
        self.of_system.insert(target, found);
        Ok(found)
    }

    fn find_system(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        strings: &mut Strings,
        target: Target,
        machine: MachineRow,
    ) -> Result<Result<LoaderId, NoLoader>, Need> {
        for path in machine.loaders {
            if file_for(store, path.as_bytes(), target)?.is_some() {
                let path = strings.id(path.as_bytes());
                return self.at(store, plan, strings, path, target, machine);
            }
        }
        let musl = self.musl_of_system(store, plan, strings, target, machine)?;
        Ok(musl.unwrap_or(Err(NoLoader::NotHere)))
    }

    /// The musl loader for `object`: the file at PT_INTERP if that is a musl loader, or else the
    /// system's musl loader.
    fn musl(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        strings: &mut Strings,
        object: &Object,
        target: Target,
        machine: MachineRow,
    ) -> Result<Result<LoaderId, NoLoader>, Need> {
        if let Some(interp) = object.interp().filter(|_| !plan.as_ldd)
            && let Some(file) = file_for(store, interp, target)?
            && store.interpreter(file)?.musl.is_some()
        {
            let path = strings.id(interp);
            return self.at(store, plan, strings, path, target, machine);
        }
        let system = self.musl_of_system(store, plan, strings, target, machine)?;
        Ok(system.unwrap_or(Err(NoLoader::NotHere)))
    }

    /// The system's own musl loader for objects of `target`; `None` if the system has none.
    fn musl_of_system(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        strings: &mut Strings,
        target: Target,
        machine: MachineRow,
    ) -> Result<Option<Result<LoaderId, NoLoader>>, Need> {
        for arch in arches(machine.name) {
            let path = format!("/lib/ld-musl-{arch}.so.1");
            if file_for(store, path.as_bytes(), target)?.is_some() {
                let path = strings.id(path.as_bytes());
                return self.at(store, plan, strings, path, target, machine).map(Some);
            }
        }
        Ok(None)
    }

    fn at(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        strings: &mut Strings,
        path: StrId,
        target: Target,
        machine: MachineRow,
    ) -> Result<Result<LoaderId, NoLoader>, Need> {
        let target = machine.canonical(target);
        let key = (path, target);
        if let Some(known) = self.by_path.get(&key) {
            return Ok(*known);
        }
        let loader = read::read(store, plan, strings, path, target, machine)?;
        let answer = loader.map(|loader| self.list.push(loader));
        self.by_path.insert(key, answer);
        Ok(answer)
    }
}

/// True for an object that needs musl's libc: `libc.so`, or Alpine's `libc.musl-ARCH.so.1`. False
/// for objects of foreign systems such as Android, whose libc is also called `libc.so`.
fn needs_musl(object: &Object) -> bool {
    object.foreign.is_none()
        && object.needs.iter().any(|need| {
            let name = object.str(need.name);
            name == b"libc.so" || name.starts_with(b"libc.musl-")
        })
}

/// The C library whose loader must start `object`: `--loader`, PT_INTERP or the needs determine it,
/// in this order. `None` if none of them determines a C library.
fn expected_libc(plan: &Plan, object: &Object) -> Option<Libc> {
    if let Some(rules) = plan.loader {
        return Some(if rules == LoaderRules::Musl { Libc::Musl } else { Libc::Glibc });
    }
    let name = last_part(object.interp().unwrap_or_default());
    let mut all = [Libc::Glibc, Libc::Musl].into_iter();
    all.find(|libc| libc.has_loader(name)).or_else(|| libc_of(object))
}

/// The C library for which an object was linked, according to its needs. `None` if the object needs
/// neither glibc nor musl.
pub fn libc_of(object: &Object) -> Option<Libc> {
    if needs_musl(object) {
        return Some(Libc::Musl);
    }
    let is_of_glibc = |name: &[u8]| name.starts_with(b"libc.so.6") || Libc::Glibc.has_loader(name);
    object.needs.iter().any(|need| is_of_glibc(object.str(need.name))).then_some(Libc::Glibc)
}

/// The reason why the file at a PT_INTERP path cannot be used as a loader for `target`.
fn interp_fault(store: &dyn FactStore, path: &[u8], target: Target) -> InterpreterDefect {
    match store.place(path) {
        Some(PathState::File(file)) => match store.file(file).content.reaction(target) {
            LoaderReaction::WrongClass | LoaderReaction::WrongMachine => {
                InterpreterDefect::WrongArchitecture
            }
            LoaderReaction::Fatal(text) => InterpreterDefect::NoLoader(text),
            LoaderReaction::Accepted => InterpreterDefect::Absent,
        },
        Some(PathState::Directory) => InterpreterDefect::NoLoader("is a directory"),
        Some(PathState::Special(special)) => InterpreterDefect::NoLoader(special.describe()),
        Some(PathState::OfProcess) => {
            InterpreterDefect::NoLoader("a different file in every process")
        }
        Some(PathState::Failed(_)) | None => InterpreterDefect::Absent,
    }
}

/// The path of the loader in `dir`, if `dir` also has a libc.so.6 for `target`: a libc works only
/// with its own loader.
fn beside_libc(
    store: &dyn FactStore,
    strings: &mut Strings,
    dir: StrId,
    target: Target,
    machine: MachineRow,
) -> Result<Option<StrId>, Need> {
    let dir = strings.text(dir).to_vec();
    if !dir.starts_with(b"/") || !store.is_directory(&dir)? {
        return Ok(None);
    }
    let libc = [&dir[..], b"libc.so.6"].concat();
    if file_for(store, &libc, target)?.is_none() {
        return Ok(None);
    }
    for system in machine.loaders {
        let name = system.rsplit('/').next().unwrap_or(system);
        let path = [&dir[..], name.as_bytes()].concat();
        if file_for(store, &path, target)?.is_some() {
            return Ok(Some(strings.id(&path)));
        }
    }
    Ok(None)
}
