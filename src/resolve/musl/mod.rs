//! The link map of one root under musl's loader (`ldso/dynlink.c`): which file each need leads to, by
//! its search order, its built-in names and its own idea of what is already there. DT_SONAME is
//! never looked at, every search path is inherited, the first file that opens is taken.
//!
//! `resolver` calls it for roots whose loader is musl's; binding by its rules is `bind::musl`.

mod plugin;
mod search;

use super::resolver::Resolver;
use super::trace::Trace;
use super::{Edge, How, LOADER, Links, LoadFailure, Module, ROOT, Root};
use crate::facts::{Content, Need, Place, View};
use crate::format::elf::{NeedKind, Object, Role};
use crate::id::{FastMap, FileId, Id as _, ModuleId, StrId};
use crate::plan::Plan;
use search::words;

/// Libraries that are part of libc: behind `lib`, up to the dot.
const BUILTIN: [&str; 7] = ["c.", "pthread.", "rt.", "m.", "dl.", "util.", "xnet."];
/// Longest file name (`limits.h`).
const NAME_MAX: usize = 255;

/// The class of names that libc answers to itself, if `name` is one.
pub fn builtin(name: &[u8]) -> Option<usize> {
    let rest = name.strip_prefix(b"lib")?;
    BUILTIN.iter().position(|start| rest.starts_with(start.as_bytes()))
}

/// Names of musl's architectures for a machine's name.
pub(super) fn arches(machine: &str) -> &'static [&'static str] {
    match machine {
        "x86_64" => &["x86_64"],
        "x32" => &["x32"],
        "i386" => &["i386"],
        "aarch64" => &["aarch64"],
        "aarch64_be" => &["aarch64_be"],
        "armhf" | "armel" => &["armhf", "arm"],
        "riscv64" => &["riscv64", "riscv64-sf", "riscv64-sp"],
        "riscv32" => &["riscv32"],
        "ppc" => &["powerpc", "powerpc-sf"],
        "ppc64" => &["powerpc64"],
        "ppc64le" => &["powerpc64le"],
        "s390x" => &["s390x"],
        "loongarch64" => &["loongarch64"],
        "mips" => &["mips", "mips-sf"],
        "mipsel" => &["mipsel", "mipsel-sf"],
        "mips64" => &["mips64"],
        "mips64el" => &["mips64el"],
        "mipsn32" => &["mipsn32"],
        "mipsn32el" => &["mipsn32el"],
        "armeb" | "armebhf" => &["armebhf", "armeb"],
        _ => &[],
    }
}

/// The state of one load.
pub(super) struct Load<'a, 'v> {
    resolver: &'a mut Resolver,
    view: View<'v>,
    plan: &'a Plan,
    root: Root,
    needs: &'a mut Vec<Need>,
    modules: Vec<Module>,
    edges: Vec<Edge>,
    failures: Vec<LoadFailure>,
    /// The loader's list, the root first.
    chain: Vec<ModuleId>,
    /// `shortname`: what a search has found an object by.
    by_name: FastMap<StrId, ModuleId>,
    named: Vec<bool>,
    by_file: FastMap<FileId, ModuleId>,
    by_cwd: bool,
    /// The words of the last error number.
    errno: &'static str,
    trace: Option<&'a mut Trace>,
}

/// What one name led to.
enum Loaded {
    Module(ModuleId, How),
    /// Nothing: what was opened, if anything was, and the words of the error number.
    Failed(Option<FileId>, &'static str),
    /// A fact is missing; it is in `needs`.
    Unknown,
}

impl<'a, 'v> Load<'a, 'v> {
    pub(super) fn new(
        resolver: &'a mut Resolver,
        view: View<'v>,
        plan: &'a Plan,
        root: Root,
        needs: &'a mut Vec<Need>,
    ) -> Self {
        let loader = resolver.loaders.get(root.loader);
        let (path, file) = (loader.path, loader.file);
        let empty = resolver.strings.id(b"");
        let module = |file, name, path, how| Module::new(file, name, path, None, how);
        let modules = vec![
            module(Some(root.file), empty, root.path, How::Root),
            module(file, path, path, How::Builtin),
        ];
        Self {
            resolver,
            view,
            plan,
            root,
            needs,
            modules,
            edges: Vec::new(),
            failures: Vec::new(),
            chain: vec![ROOT],
            by_name: FastMap::default(),
            named: vec![true, true],
            by_file: FastMap::default(),
            by_cwd: false,
            errno: "No error information",
            trace: None,
        }
    }

    pub(super) fn run(mut self) -> Option<Links> {
        let complete = self.preload();
        if !self.visit_from(0) || !complete {
            return None;
        }
        if !self.chain.contains(&LOADER) {
            self.chain.push(LOADER);
        }
        // Copies come last: they depend on the libraries' own relocations.
        let mut order = self.chain[1..].to_vec();
        order.push(ROOT);
        Some(Links {
            base: None,
            renamed: Vec::new(),
            start: ROOT,
            moved: false,
            hidden: Vec::new(),
            modules: self.modules,
            edges: self.edges,
            list: self.chain[1..].to_vec(),
            scope: self.chain,
            order,
            fatal: None,
            preload_failures: Vec::new(),
            failures: self.failures,
            by_cpu: false,
            by_cwd: self.by_cwd,
        })
    }

    /// `load_deps`: the needs of everything in the list from `at` on, and of what they load.
    fn visit_from(&mut self, mut at: usize) -> bool {
        let mut complete = true;
        while at < self.chain.len() {
            let module = self.chain[at];
            at += 1;
            if module != LOADER {
                complete &= self.visit(module);
            }
        }
        complete
    }

    /// What is tried for the need `name` of module `from`, for evidence.
    pub(super) fn tried(
        mut self,
        modules: Vec<Module>,
        name: StrId,
        from: ModuleId,
        trace: &'a mut Trace,
    ) {
        self.modules = modules;
        self.trace = Some(trace);
        // Every fact is known by now; what it comes to is in the trace.
        let _ = self.search(name, Some(from));
    }

    /// `load_preload`: what cannot be loaded is passed over without a word.
    fn preload(&mut self) -> bool {
        let plan = self.plan;
        let names = plan.ld_preload.split(|b| b.is_ascii_whitespace() || *b == b':');
        let mut complete = true;
        for name in names.filter(|name| !name.is_empty()) {
            let name = self.resolver.strings.id(name);
            if matches!(self.load(name, None), Loaded::Unknown) {
                complete = false;
            }
        }
        complete
    }

    /// `load_direct_deps`
    fn visit(&mut self, module: ModuleId) -> bool {
        let Some(file) = self.modules[module.index()].file else { return true };
        let Some(object) = self.view.object(file) else { return true };
        let names = self.resolver.names(file, object);
        let first = u32::try_from(self.edges.len()).unwrap_or(u32::MAX);
        let mut complete = true;
        for (kind, name, _) in names.needs.iter().filter(|need| need.0 == NeedKind::Needed) {
            let (to, how) = match self.load(*name, Some(module)) {
                Loaded::Module(to, how) => (to, how),
                Loaded::Unknown => {
                    complete = false;
                    continue;
                }
                Loaded::Failed(file, text) => {
                    self.errno = text;
                    let to = self.push(None, *name, *name, Some(module), How::Missing);
                    self.failures.push(LoadFailure { module: to, file, text });
                    (to, How::Missing)
                }
            };
            self.edges.push(Edge { from: module, raw: *name, name: *name, kind: *kind, to, how });
        }
        let end = u32::try_from(self.edges.len()).unwrap_or(u32::MAX);
        self.modules[module.index()].edges = (first, end);
        complete
    }

    /// `load_library`
    fn load(&mut self, name: StrId, requester: Option<ModuleId>) -> Loaded {
        let text = self.resolver.strings.text(name);
        if text.is_empty() {
            return Loaded::Failed(None, "Invalid argument");
        }
        if builtin(text).is_some() || name == self.modules[LOADER.index()].path {
            if !self.chain.contains(&LOADER) {
                self.chain.push(LOADER);
            }
            return Loaded::Module(LOADER, How::Builtin);
        }
        if self.plan.policy.provides(text) {
            let module = self.push(None, name, name, requester, How::Provided);
            return Loaded::Module(module, How::Provided);
        }
        let is_path = text.contains(&b'/');
        if !is_path {
            if let Some(module) = self.by_name.get(&name) {
                return Loaded::Module(*module, How::Loaded);
            }
            // `errno` is left as it was.
            if text.len() > NAME_MAX {
                return Loaded::Failed(None, self.errno);
            }
        }
        let (path, place, how) = match self.search(name, requester) {
            Ok(found) => found,
            Err(failed) => return failed,
        };
        let file = match place {
            Place::File(file) => file,
            Place::Directory => return Loaded::Failed(None, "Is a directory"),
            Place::Special(_) => return Loaded::Failed(None, "it is a special file"),
            Place::Failed(errno) => return Loaded::Failed(None, words(errno)),
        };
        if let Some(module) = self.by_file.get(&file).copied() {
            if !is_path && !self.named[module.index()] {
                self.name(module);
            }
            return Loaded::Module(module, how);
        }
        match self.is_mappable(file) {
            Err(()) => return Loaded::Unknown,
            Ok(Mapped::Refused) => return Loaded::Failed(Some(file), "Exec format error"),
            Ok(Mapped::OtherMachine) => {
                return Loaded::Failed(Some(file), "is mapped, and its relocations are foreign");
            }
            Ok(Mapped::OtherLibc) => {
                let libc = self.resolver.strings.id(b"libc.so");
                return self.load(libc, requester);
            }
            Ok(Mapped::Library) => {}
        }
        let how = if requester.is_none() { How::Preload } else { how };
        let module = self.push(Some(file), name, path, requester, how);
        self.by_file.insert(file, module);
        self.chain.push(module);
        if !is_path {
            self.name(module);
        }
        Loaded::Module(module, how)
    }

    fn push(
        &mut self,
        file: Option<FileId>,
        name: StrId,
        path: StrId,
        requester: Option<ModuleId>,
        how: How,
    ) -> ModuleId {
        self.modules.push(Module::new(file, name, path, requester, how));
        self.named.push(false);
        ModuleId::from_index(self.modules.len() - 1)
    }

    /// Gives an object the name by which later needs find it: the last part of its path.
    fn name(&mut self, module: ModuleId) {
        let path = self.resolver.strings.text(self.modules[module.index()].path);
        let short = path.rsplit(|b| *b == b'/').next().unwrap_or_default().to_vec();
        let short = self.resolver.strings.id(&short);
        self.by_name.entry(short).or_insert(module);
        self.named[module.index()] = true;
    }

    /// `map_library`, and the probe for a libc that is not musl's; an error if the tables it asks are
    /// not there.
    fn is_mappable(&mut self, file: FileId) -> Result<Mapped, ()> {
        let target = self.resolver.loaders.get(self.root.loader).target;
        let facts = self.view.file(file);
        let Content::Elf(object) = &facts.content else { return Ok(Mapped::Refused) };
        let mapped = matches!(object.role, Role::Program | Role::Shared)
            && object.header.target().is_64 == target.is_64
            && object.header.target().big == target.big;
        if !mapped {
            return Ok(Mapped::Refused);
        }
        if object.header.machine != target.machine {
            return Ok(Mapped::OtherMachine);
        }
        if object.tables.is_none() {
            self.needs.push(Need::Tables(file));
            return Err(());
        }
        let defines = |object: &Object, name: &[u8]| object.find_musl(name, true).is_some();
        let libc = [&b"__libc_start_main"[..], b"stdin"];
        let is_libc = libc.iter().all(|name| defines(object, name));
        Ok(if is_libc { Mapped::OtherLibc } else { Mapped::Library })
    }
}

/// What a file is to `load_library`.
enum Mapped {
    Library,
    /// A libc: musl's own takes its place.
    OtherLibc,
    /// Of the same class and byte order, for another machine: musl looks at neither and fails at the
    /// first relocation. `--list` shows it as loaded; here it is an error at once.
    OtherMachine,
    Refused,
}
