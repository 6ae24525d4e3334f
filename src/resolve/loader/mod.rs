//! Which loader a root runs under, and what that loader is like: its directories, cache, preload
//! list and release, read out of its own binary by `read`.

mod read;

use super::Machine;
use super::cache::{Asker, Cache};
use crate::facts::{Need, Place, View};
use crate::format::elf::{Object, Target, Verdict, machine};
use crate::id::{FastMap, FileId, IdVec, LoaderId, StrId, Strings};
use crate::plan::{LoaderRules, Plan};

/// Whose rules a loader follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// The GNU C library's.
    Glibc,
    /// musl's, with its release.
    Musl((u16, u16, u16)),
}

/// The rules of one loader binary.
pub struct Loader {
    /// Whose rules they are.
    pub family: Family,
    /// The path by which it is started: PT_INTERP, or where the system keeps it.
    pub path: StrId,
    /// Its binary, if there is one.
    pub file: Option<FileId>,
    /// The objects it takes.
    pub target: Target,
    /// The row of its machine.
    pub machine: Machine,
    /// glibc's release.
    pub release: (u16, u16),
    /// Default directories, each with its slash at the end.
    pub system_dirs: Vec<StrId>,
    /// `$LIB`
    pub lib: Vec<u8>,
    /// `$PLATFORM`
    pub platform: Option<&'static str>,
    /// Subdirectories tried below every directory; the last is empty.
    pub subdirs: Vec<StrId>,
    /// Names of active glibc-hwcaps directories.
    pub active: Vec<&'static str>,
    /// ld.so.cache, if there is a usable one.
    pub cache: Option<Cache>,
    /// Entries of ld.so.preload.
    pub preload: Vec<StrId>,
    /// Guix's: the cache is that of the program's own package, and comes before RUNPATH.
    pub package_cache: bool,
    /// What had to be guessed, for an `undecided` finding.
    pub guessed: Option<&'static str>,
}

/// Why no loader rules could be chosen for a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLoader {
    /// PT_INTERP names a loader whose rules are not built in.
    UnknownFamily,
    /// The machine's loader rules are not built in.
    UnknownMachine,
    /// The system has no loader that takes this object.
    NotHere,
    /// The loader refuses the object itself with this text.
    Refused(&'static str),
}

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
    /// What the root's system has.
    of_system: FastMap<Target, Result<LoaderId, NoLoader>>,
}

impl Loaders {
    /// The loader with this id.
    pub fn get(&self, id: LoaderId) -> &Loader {
        &self.list[id]
    }

    /// The loader with which `object` is loaded; `run_path` are the directories of its own RPATH or
    /// RUNPATH.
    pub fn choose(
        &mut self,
        view: View<'_>,
        plan: &Plan,
        strings: &mut Strings,
        object: &Object,
        run_path: &[StrId],
    ) -> Result<Choice, Need> {
        let target = object.header.target();
        let found = |loader| Choice { loader, interp: None };
        // A program that the kernel maps is not judged again by its loader.
        if (plan.as_ldd || object.interp.is_none())
            && let Some(text) = object.refused_as_main()
        {
            return Ok(found(Err(NoLoader::Refused(text))));
        }
        let Some(machine) = machine::of(target) else {
            return Ok(found(Err(NoLoader::UnknownMachine)));
        };
        if plan.loader == Some(LoaderRules::Musl) {
            return Ok(found(self.musl(view, plan, strings, object, target, machine)?));
        }
        if plan.as_ldd {
            return Ok(found(self.system(view, plan, strings, target, machine)?));
        }
        if let Some(interp) = object.interp() {
            let key = (strings.id(interp), target);
            if let Some(known) = self.by_interp.get(&key) {
                return Ok(*known);
            }
            let choice = self.named(view, plan, strings, key, machine)?;
            self.by_interp.insert(key, choice);
            return Ok(choice);
        }
        if plan.loader.is_none() && needs_musl(object) {
            let musl = self.musl_of_system(view, plan, strings, target, machine)?;
            return Ok(found(musl.unwrap_or(Err(NoLoader::UnknownFamily))));
        }
        for dir in run_path {
            if let Some(path) = beside_libc(view, strings, *dir, target, machine)? {
                return Ok(found(self.at(view, plan, strings, path, target, machine)?));
            }
        }
        Ok(found(self.system(view, plan, strings, target, machine)?))
    }

    /// The loader that lies at a PT_INTERP.
    fn named(
        &mut self,
        view: View<'_>,
        plan: &Plan,
        strings: &mut Strings,
        (path, target): (StrId, Target),
        machine: Machine,
    ) -> Result<Choice, Need> {
        let interp = strings.text(path);
        let Some(file) = file_for(view, interp, target)? else {
            let fault = interp_fault(view, interp, target);
            let loader = self.system(view, plan, strings, target, machine)?;
            return Ok(Choice { loader, interp: Some(fault) });
        };
        // `--loader` may say that musl's is not what will run it.
        let other = plan.loader.is_some() && view.interpreter(file)?.musl.is_some();
        let loader = if other {
            self.system(view, plan, strings, target, machine)?
        } else {
            self.at(view, plan, strings, path, target, machine)?
        };
        Ok(Choice { loader, interp: None })
    }

    /// The loader that `ldd` of the root's system runs for objects of `target`.
    fn system(
        &mut self,
        view: View<'_>,
        plan: &Plan,
        strings: &mut Strings,
        target: Target,
        machine: Machine,
    ) -> Result<Result<LoaderId, NoLoader>, Need> {
        if let Some(known) = self.of_system.get(&target) {
            return Ok(*known);
        }
        let found = self.find_system(view, plan, strings, target, machine)?;
        self.of_system.insert(target, found);
        Ok(found)
    }

    fn find_system(
        &mut self,
        view: View<'_>,
        plan: &Plan,
        strings: &mut Strings,
        target: Target,
        machine: Machine,
    ) -> Result<Result<LoaderId, NoLoader>, Need> {
        for path in machine.loaders {
            if file_for(view, path.as_bytes(), target)?.is_some() {
                let path = strings.id(path.as_bytes());
                return self.at(view, plan, strings, path, target, machine);
            }
        }
        let musl = self.musl_of_system(view, plan, strings, target, machine)?;
        Ok(musl.unwrap_or(Err(NoLoader::NotHere)))
    }

    /// musl's loader, whatever PT_INTERP says: the one it names if that is musl's, else the root's.
    fn musl(
        &mut self,
        view: View<'_>,
        plan: &Plan,
        strings: &mut Strings,
        object: &Object,
        target: Target,
        machine: Machine,
    ) -> Result<Result<LoaderId, NoLoader>, Need> {
        if let Some(interp) = object.interp().filter(|_| !plan.as_ldd)
            && let Some(file) = file_for(view, interp, target)?
            && view.interpreter(file)?.musl.is_some()
        {
            let path = strings.id(interp);
            return self.at(view, plan, strings, path, target, machine);
        }
        let system = self.musl_of_system(view, plan, strings, target, machine)?;
        Ok(system.unwrap_or(Err(NoLoader::NotHere)))
    }

    /// The root's own musl, if it has one for objects of `target`.
    fn musl_of_system(
        &mut self,
        view: View<'_>,
        plan: &Plan,
        strings: &mut Strings,
        target: Target,
        machine: Machine,
    ) -> Result<Option<Result<LoaderId, NoLoader>>, Need> {
        for arch in super::musl::arches(machine.name) {
            let path = format!("/lib/ld-musl-{arch}.so.1");
            if file_for(view, path.as_bytes(), target)?.is_some() {
                let path = strings.id(path.as_bytes());
                return self.at(view, plan, strings, path, target, machine).map(Some);
            }
        }
        Ok(None)
    }

    fn at(
        &mut self,
        view: View<'_>,
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
        let loader = read::read(view, plan, strings, path, target, machine)?;
        let answer = loader.map(|loader| self.list.push(loader));
        self.by_path.insert(key, answer);
        Ok(answer)
    }
}

impl Loader {
    /// The question this loader puts to its cache.
    pub fn asker(&self, cpu: &crate::plan::Cpu) -> Asker<'_> {
        Asker {
            flags: self.machine.cache_flags,
            active: &self.active,
            isa_level: u32::from(cpu.x86_level.saturating_sub(1)),
            // c5aa5fd40a
            legacy: self.release < (2, 40),
            legacy_hwcap: 1 | 1 << 1 | u64::from(cpu.avx512_1) << 2,
        }
    }
}

/// The file at `path` if a loader for `target` would take it; all other places count as absent.
fn file_for(view: View<'_>, path: &[u8], target: Target) -> Result<Option<FileId>, Need> {
    match view.place(path) {
        None => Err(Need::path(path.to_vec(), None)),
        Some(Place::File(file)) => {
            let taken = view.file(file).content.verdict(target) == Verdict::Accepted;
            Ok(taken.then_some(file))
        }
        Some(Place::Directory | Place::Special(_) | Place::Failed(_)) => Ok(None),
    }
}

/// True for a library that was linked against musl: its libc is `libc.so`, or Alpine's
/// `libc.musl-ARCH.so.1`.
fn needs_musl(object: &Object) -> bool {
    object.needs.iter().any(|need| {
        let name = object.str(need.name);
        name == b"libc.so" || name.starts_with(b"libc.musl-")
    })
}

/// What lies at a PT_INTERP that no loader for `target` lies at.
fn interp_fault(view: View<'_>, path: &[u8], target: Target) -> InterpFault {
    match view.place(path) {
        Some(Place::File(file)) => match view.file(file).content.verdict(target) {
            Verdict::WrongClass | Verdict::WrongMachine => InterpFault::WrongArchitecture,
            Verdict::Fatal(text) => InterpFault::NoLoader(text),
            Verdict::Accepted => InterpFault::Absent,
        },
        Some(Place::Directory) => InterpFault::NoLoader("is a directory"),
        Some(Place::Special(special)) => InterpFault::NoLoader(special.describe()),
        Some(Place::Failed(_)) | None => InterpFault::Absent,
    }
}

/// The loader that lies beside a libc.so.6 in `dir`: a libc only works with its own.
fn beside_libc(
    view: View<'_>,
    strings: &mut Strings,
    dir: StrId,
    target: Target,
    machine: Machine,
) -> Result<Option<StrId>, Need> {
    let dir = strings.text(dir).to_vec();
    if !dir.starts_with(b"/") || !view.is_directory(&dir)? {
        return Ok(None);
    }
    let libc = [&dir[..], b"libc.so.6"].concat();
    if file_for(view, &libc, target)?.is_none() {
        return Ok(None);
    }
    for system in machine.loaders {
        let name = system.rsplit('/').next().unwrap_or(system);
        let path = [&dir[..], name.as_bytes()].concat();
        if file_for(view, &path, target)?.is_some() {
            return Ok(Some(strings.id(&path)));
        }
    }
    Ok(None)
}
