//! Which loader a root runs under, and what that loader is like: its directories, cache, preload
//! list and release, read out of its own binary by `read`.

mod assumed;
pub(super) mod config;
mod read;
mod rules;

pub use config::ConfigFault;
pub use rules::{Family, Loader, NoLoader};

use super::Machine;
use super::musl::names::arches;
use crate::facts::{FactStore, Need, Place};
use crate::format::elf::{Object, Target, Verdict, machine};
use crate::id::{FastMap, IdVec, LoaderId, StrId, Strings};
use crate::plan::{LoaderRules, Plan};
use crate::policy::Libc;
use rules::file_for;

/// Why a program's interpreter is not its loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterpFault {
    /// Nothing lies there, or it cannot be opened.
    Absent,
    /// It is for another class or machine.
    WrongArchitecture,
    /// It is no file that could be a loader.
    NoLoader(&'static str),
}

/// The loader for a root, or why there is none; and PT_INTERP if nothing lies there.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The loader.
    pub loader: Result<LoaderId, NoLoader>,
    /// What is wrong with the program's PT_INTERP; the system's loader is taken instead.
    pub interp: Option<InterpFault>,
}

/// All loaders of a run, each read once.
#[derive(Default)]
pub struct Loaders {
    list: IdVec<LoaderId, Loader>,
    by_path: FastMap<(StrId, Target), Result<LoaderId, NoLoader>>,
    /// By PT_INTERP: most programs have the same.
    by_interp: FastMap<(StrId, Target), Choice>,
    /// Those of platforms.
    assumed: FastMap<(StrId, Target), LoaderId>,
    /// What the root's system has.
    of_system: FastMap<Target, Result<LoaderId, NoLoader>>,
}

impl Loaders {
    /// All loaders that were read.
    pub(super) fn ids(&self) -> impl Iterator<Item = LoaderId> + use<> {
        self.list.ids()
    }

    /// The loader with this id.
    pub fn get(&self, id: LoaderId) -> &Loader {
        &self.list[id]
    }

    /// The loader with which `object` is loaded; `run_path` are the directories of its own RPATH or
    /// RUNPATH. Under a whitelist, an object without a loader in its prefix gets one by its platform.
    /// Without one, what the object itself decides is decided where the system has no loader; only
    /// `ldd` needs one that can run.
    pub fn choose(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        strings: &mut Strings,
        object: &Object,
        run_path: &[StrId],
    ) -> Result<Choice, Need> {
        let choice = self.find(store, plan, strings, object, run_path)?;
        let is_absent = match choice.loader {
            Err(NoLoader::NotHere) => true,
            Err(NoLoader::UnknownFamily) => object.interp.is_none(),
            _ => false,
        };
        let machine = machine::of(object.header.target());
        let is_closed = plan.policy.is_closed();
        match machine.filter(|_| is_absent && (is_closed || !plan.every_file_is_root)) {
            Some(machine) => {
                let loader = self.assumed(plan, strings, object, machine);
                // Outside of a whitelist nothing of that system is there, its loader neither.
                let interp = choice.interp.filter(|_| is_closed);
                Ok(Choice { loader: Ok(loader), interp })
            }
            None => Ok(choice),
        }
    }

    /// The loader of the object's platform, without a binary.
    fn assumed(
        &mut self,
        plan: &Plan,
        strings: &mut Strings,
        object: &Object,
        machine: Machine,
    ) -> LoaderId {
        let target = machine.canonical(object.header.target());
        let libc = assumed::libc(plan, object, needs_musl(object));
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
                // The default directories are those of another system.
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
    ) -> Result<Choice, Need> {
        let target = object.header.target();
        let found = |loader| Choice { loader, interp: None };
        // A program that the kernel maps is not judged again by its loader; the kernel maps no segment
        // that lies askew either (fs/binfmt_elf.c, elf_map).
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

    /// The loader that lies at a PT_INTERP.
    fn named(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        strings: &mut Strings,
        (path, target): (StrId, Target),
        machine: Machine,
    ) -> Result<Choice, Need> {
        let interp = strings.text(path);
        let Some(file) = file_for(store, interp, target)? else {
            let fault = interp_fault(store, interp, target);
            let loader = self.system(store, plan, strings, target, machine)?;
            return Ok(Choice { loader, interp: Some(fault) });
        };
        // `--loader` may say that musl's is not what will run it.
        let other = plan.loader.is_some() && store.interpreter(file)?.musl.is_some();
        let loader = if other {
            self.system(store, plan, strings, target, machine)?
        } else {
            self.at(store, plan, strings, path, target, machine)?
        };
        Ok(Choice { loader, interp: None })
    }

    /// The loader that `ldd` of the root's system runs for objects of `target`.
    fn system(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        strings: &mut Strings,
        target: Target,
        machine: Machine,
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
        machine: Machine,
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

    /// musl's loader, whatever PT_INTERP says: the one it names if that is musl's, else the root's.
    fn musl(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        strings: &mut Strings,
        object: &Object,
        target: Target,
        machine: Machine,
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

    /// The root's own musl, if it has one for objects of `target`.
    fn musl_of_system(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        strings: &mut Strings,
        target: Target,
        machine: Machine,
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
        machine: Machine,
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

/// True for a library that was linked against musl: its libc is `libc.so`, or Alpine's
/// `libc.musl-ARCH.so.1`. Android's is `libc.so` too.
fn needs_musl(object: &Object) -> bool {
    object.foreign.is_none()
        && object.needs.iter().any(|need| {
            let name = object.str(need.name);
            name == b"libc.so" || name.starts_with(b"libc.musl-")
        })
}

/// What lies at a PT_INTERP that no loader for `target` lies at.
fn interp_fault(store: &dyn FactStore, path: &[u8], target: Target) -> InterpFault {
    match store.place(path) {
        Some(Place::File(file)) => match store.file(file).content.verdict(target) {
            Verdict::WrongClass | Verdict::WrongMachine => InterpFault::WrongArchitecture,
            Verdict::Fatal(text) => InterpFault::NoLoader(text),
            Verdict::Accepted => InterpFault::Absent,
        },
        Some(Place::Directory) => InterpFault::NoLoader("is a directory"),
        Some(Place::Special(special)) => InterpFault::NoLoader(special.describe()),
        Some(Place::OfProcess) => InterpFault::NoLoader("something else in every process"),
        Some(Place::Failed(_)) | None => InterpFault::Absent,
    }
}

/// The loader that lies beside a libc.so.6 in `dir`: a libc only works with its own.
fn beside_libc(
    store: &dyn FactStore,
    strings: &mut Strings,
    dir: StrId,
    target: Target,
    machine: Machine,
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
