//! The plan of a run: its options, the merged policy and the relevant parts of the environment.
//! `cli::plan` makes the plan before the first audited file is opened, and every stage reads it.
//! The plan holds no facts of audited files.

use crate::format::Reading;
use crate::format::deps_list::DepsList;
use crate::format::elf::machine::hwcaps;
use crate::format::gpu::{Depth, TargetId};
use crate::id::FastSet;
use crate::order::Arrange as _;
use crate::policy::{Day, Pattern, Policy};
use crate::sniff::{Class, Classes};
use crate::wants::Wants;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

/// The loader rules that `--loader` selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoaderRules {
    /// The GNU C library's rules.
    Glibc,
    /// musl's rules.
    Musl,
    /// The rules of Guix's loader: the GNU C library's rules, and an ld.so.cache in each package.
    Guix,
}

/// A program of `--host`: it loads shared objects with dlopen.
#[derive(Clone, Debug)]
pub struct HostFile {
    /// The path of the program.
    pub path: PathBuf,
    /// The plugins that the program loads, as a pattern of paths below the prefix. `None` selects
    /// the objects that no other object needs.
    pub plugins: Option<Pattern>,
}

/// Selects the archives that were merged from the archives of one list.
#[derive(Clone, Debug)]
pub enum Which {
    /// The archive in this file.
    File(PathBuf),
    /// Archives that match a policy's pattern.
    Policy(Pattern),
    /// Archives that the list does not name, and that have members of archives in the list.
    Found,
}

/// A merged archive, and the list of the archives from which it was merged.
#[derive(Clone, Debug)]
pub struct MergedFrom {
    /// Selects the merged archive.
    pub which: Which,
    /// The path of the list as given.
    pub path: PathBuf,
    /// The list, or the reason why it cannot be read.
    pub list: Result<DepsList, String>,
    /// Sets of the list, each with the directory of its archives, as stated in the policy.
    pub from: Vec<(String, PathBuf)>,
}

/// The fixes that a run searches for, and the archives in which it searches.
#[derive(Clone, Debug, Default)]
pub struct FixRequest {
    /// The path of the merged archive, if given.
    pub archive: Option<PathBuf>,
    /// True to propose the removal of list entries whose archives no object needs.
    pub minimal: bool,
    /// True to propose fixes only for a merged archive. In any other archive, a definition of an
    /// undefined name may be a coincidence.
    pub merged_only: bool,
    /// True if the command fails when it finds no merged archive.
    pub must_find: bool,
    /// True if a list of archives is given, or if a requested output changes such a list. If
    /// there is no merged archive, the fixed library links the archives of the list directly.
    pub is_list_named: bool,
}

/// The plan of a run: options, policy and environment.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The files and directories to audit, as typed.
    pub paths: Vec<PathBuf>,
    /// `Some` if the command line describes a link, in which the order of the files matters. The
    /// list has the objects that the linker extracts only on demand, like members of archives.
    pub link: Option<Vec<PathBuf>>,
    /// Files and directories of `--files-from`, and store items of `--nix-closure`. A listed path
    /// that does not exist is a finding.
    pub listed: Arc<[PathBuf]>,
    /// The store items of `--nix-closure`; empty without the option.
    pub closure: Arc<FastSet<PathBuf>>,
    /// True if `--root` gives a sysroot.
    pub has_root: bool,
    /// `--staged` as typed: directories whose files are seen at their installed paths.
    pub stages: Vec<PathBuf>,
    /// The options that select the audited system and its loader, as words of a shell command.
    /// Suggested commands repeat them. `None` if a value cannot be typed in a shell.
    pub typed_options: Option<Vec<String>>,
    /// `--prefix`, links resolved: paths and fingerprints are relative to it.
    pub prefix: Option<PathBuf>,
    /// `archive --self`: directories whose archives must be linkable with the files below them.
    pub self_dirs: Vec<PathBuf>,
    /// `--lib-path`: more directories to search for providers.
    pub lib_paths: Vec<PathBuf>,
    /// `--host`: programs that load shared objects with dlopen.
    pub hosts: Vec<HostFile>,
    /// The loader whose rules apply. With `None`, the loader depends on the entry point. A
    /// program has the loader in its PT_INTERP. A library has the loader of the libc that it
    /// finds, or else the system's loader.
    pub loader: Option<LoaderRules>,
    /// True to resolve with the system's loader, as its `ldd` does, instead of the loader in
    /// PT_INTERP.
    pub as_ldd: bool,
    /// True if every file is an entry point, as for `ldd FILE...`.
    pub every_file_is_root: bool,
    /// True to infer host programs from the undefined symbols and missing libraries of plugins.
    pub infer_hosts: bool,
    /// True with `--facts`: the report has all exports, imports and bindings.
    pub facts: bool,
    /// True with `--cross-check`: a second, independent reader checks each file.
    pub cross_check: bool,
    /// True to keep the dynamic tables of every object, because the command looks up definitions in
    /// them.
    pub definitions: bool,
    /// True to read the members of all archives, including archives in `--lib-path`.
    pub members: bool,
    /// True to read the indexes of archives too: GNU ld finds members only through these indexes.
    pub indexes: bool,
    /// Symbols that the command looks up in archive members.
    pub symbols: Vec<Box<[u8]>>,
    /// True to reuse results of one entry point for other entry points that the loader treats in
    /// the same way.
    pub reuse: bool,
    /// LD_LIBRARY_PATH of the processes that will load the files; empty for none.
    pub ld_library_path: Vec<u8>,
    /// LD_PRELOAD of the processes that will load the files; empty for none.
    pub ld_preload: Vec<u8>,
    /// The current directory of the processes that will load the files. An empty search path entry
    /// means this directory, and relative entries start from it.
    pub cwd: PathBuf,
    /// True if the current directory was given. Otherwise, results that depend on the directory are
    /// undecided.
    pub cwd_stated: bool,
    /// The processor that the audited files will run on.
    pub cpu: Cpu,
    /// True if the processor was given. Otherwise, results that depend on the processor are
    /// undecided.
    pub cpu_stated: bool,
    /// The policy of the run: all selected policies, merged.
    pub policy: Arc<Policy>,
    /// The optional facts that the enabled rules need.
    pub rule_wants: Wants,
    /// The date of the run, which decides whether a waiver has expired.
    pub today: Day,
    /// Merged archives, each with the list of its parts.
    pub lists: Arc<Vec<MergedFrom>>,
    /// The fixes to search for; `None` for commands that propose no fixes.
    pub fix: Option<Arc<FixRequest>>,
    /// The options of the command `gpu`; `None` for other commands. That command reads the device
    /// code of all objects.
    pub gpu: Option<GpuRequest>,
    /// Number of threads of the run.
    pub threads: usize,
}

/// The options of the command `gpu`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuRequest {
    /// True with `--deep`: compressed bundles are inflated and checked whole.
    pub deep: bool,
    /// The target that the device code must support, if given.
    pub target: Option<TargetId>,
}

/// Upper bound, in bytes, for everything that `gpu --deep` inflates in a run.
const MOST_INFLATED: u64 = 4 << 30;

impl Plan {
    /// A run over `paths` in the directory `cwd` with default options, for a processor without
    /// extensions.
    pub fn new(paths: Vec<PathBuf>, cwd: PathBuf) -> Self {
        Self {
            paths,
            link: None,
            listed: Arc::default(),
            closure: Arc::default(),
            has_root: false,
            stages: Vec::new(),
            typed_options: Some(Vec::new()),
            prefix: None,
            self_dirs: Vec::new(),
            lib_paths: Vec::new(),
            hosts: Vec::new(),
            loader: None,
            as_ldd: false,
            every_file_is_root: false,
            infer_hosts: true,
            facts: false,
            cross_check: false,
            definitions: false,
            members: false,
            indexes: false,
            symbols: Vec::new(),
            reuse: true,
            ld_library_path: Vec::new(),
            ld_preload: Vec::new(),
            cwd,
            cwd_stated: false,
            cpu: Cpu::BASELINE,
            cpu_stated: false,
            policy: Arc::default(),
            rule_wants: Wants::NONE,
            today: Day { year: 1970, month: 1, day: 1 },
            lists: Arc::default(),
            fix: None,
            gpu: None,
            threads: 1,
        }
    }

    /// The parts that are read of each audited file at first, before a stage requests more.
    pub fn reading(&self) -> Reading {
        let by_query = self.rule_wants.holds(Wants::BOUND_LIBRARIES);
        // Read the tables now: otherwise, binding queries would read nearly every large program
        // again.
        let by_rules = self.rule_wants.holds(Wants::TABLES)
            || self.rule_wants.holds(Wants::DUPLICATE_DEFINITIONS);
        Reading {
            classes: self.classes(),
            tables: self.facts
                || self.definitions
                || self.members
                || self.cross_check
                || by_query
                || by_rules,
            lean: false,
            index: !self.members || self.indexes,
            names: !self.members || self.fix.as_ref().is_some_and(|request| request.minimal),
            relocations: by_query,
            dlopen_notes: self.rule_wants.holds(Wants::DLOPEN_NOTES),
            // Only the command `archive` looks up names as a linker does.
            stubs: self.definitions && self.members,
        }
    }

    /// True if the report lists symbolic links to directories.
    pub fn lists_directory_links(&self) -> bool {
        self.facts || self.definitions
    }

    /// The depth to which device code is read. The command `gpu` reads notes only with `--deep`,
    /// because notes require a read of each code object.
    pub fn device_depth(&self) -> Depth {
        match &self.gpu {
            Some(request) => {
                Depth { notes: request.deep, inflate: request.deep.then_some(MOST_INFLATED) }
            }
            None => Depth { notes: true, inflate: None },
        }
    }

    /// The classes of files that the command and the enabled rules need.
    fn classes(&self) -> Classes {
        let texts = [
            (Wants::PKG_CONFIG, Class::PkgConfig),
            (Wants::CMAKE, Class::CMake),
            (Wants::LOOSE_TEXT, Class::Loose),
            (Wants::LOOSE_TEXT, Class::Script),
            // Headers are also found through the directories and requirements of package files.
            (Wants::HEADERS, Class::Header),
            (Wants::HEADERS, Class::PkgConfig),
            (Wants::HEADERS, Class::CMake),
        ];
        let wanted = texts.into_iter().filter(|(wants, _)| self.rule_wants.holds(*wants));
        let classes = wanted.fold(Classes::LINKAGE, |classes, (_, class)| classes.with(class));
        let device = self.gpu.is_some() || self.rule_wants.holds(Wants::DEVICE_CODE);
        let classes = if device { classes.with(Class::Device) } else { classes };
        // The command `archive` also reads the bitcode files of a link.
        let is_link = self.definitions && self.members && self.self_dirs.is_empty();
        if is_link { classes.with(Class::Bitcode) } else { classes }
    }

    /// The parts that are read of each file below a `--lib-path` directory. A command that uses
    /// only the archives there needs no dynamic tables. A fix without a merged archive may also
    /// link the shared libraries there, and then needs their tables.
    pub fn provider_reading(&self) -> Reading {
        let links = |fix: &FixRequest| {
            !fix.merged_only && !fix.must_find && !fix.is_list_named && fix.archive.is_none()
        };
        let is_lean = self.self_dirs.is_empty()
            && self.members
            && !self.fix.as_ref().is_some_and(|fix| links(fix));
        let reading =
            if is_lean { Reading { lean: true, ..Reading::default() } } else { self.reading() };
        // `archive` and `fix` also read inputs that linker scripts in provider directories name.
        let reads_scripts = self.members || !self.self_dirs.is_empty();
        let classes =
            if reads_scripts { reading.classes.with(Class::LinkerScript) } else { reading.classes };
        Reading { classes, ..reading }
    }

    /// True if the meaning of LD_LIBRARY_PATH or LD_PRELOAD may depend on the entry point: one of
    /// them contains a `$`, as in `$ORIGIN`.
    pub fn environment_varies(&self) -> bool {
        self.ld_library_path.contains(&b'$') || self.ld_preload.contains(&b'$')
    }

    /// All files and directories to audit: `paths`, then `listed`.
    pub fn all_paths(&self) -> Cow<'_, [PathBuf]> {
        match (&*self.paths, &*self.listed) {
            (paths, []) => Cow::Borrowed(paths),
            ([], listed) => Cow::Borrowed(listed),
            (paths, listed) => Cow::Owned([paths, listed].concat()),
        }
    }
}

/// The properties of a processor that affect the loader's search (`sysdeps/x86/cpu-features.c`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// x86-64 level, 1 (baseline) to 4.
    pub x86_level: u8,
    /// The value with which glibc replaces AT_PLATFORM on some Intel processors: `haswell` or
    /// `xeon_phi`. `None` on all others.
    pub platform: Option<&'static str>,
    /// HWCAP_X86_AVX512_1: true for Intel processors with AVX512 CD, BW, DQ and VL.
    pub avx512_1: bool,
    /// The best `glibc-hwcaps` directory of a machine other than x86, such as `power10`. `None` if
    /// no such directory is active.
    pub named: Option<&'static str>,
}

impl Cpu {
    /// A processor without extensions.
    pub const BASELINE: Self = Self { x86_level: 1, platform: None, avx512_1: false, named: None };

    /// The processor for a `--cpu` name: `baseline`, a `glibc-hwcaps` directory, or one of the
    /// Intel processors `haswell` and `skylake-avx512`. `None` for other names.
    pub fn named(name: &str) -> Option<Self> {
        let x86 = |x86_level| Self { x86_level, ..Self::BASELINE };
        let intel = |x86_level| Self { platform: Some("haswell"), ..x86(x86_level) };
        Some(match name {
            "baseline" | "x86-64" | "x86-64-v1" => Self::BASELINE,
            "x86-64-v2" => x86(2),
            "x86-64-v3" => x86(3),
            "x86-64-v4" => x86(4),
            "haswell" => intel(3),
            "skylake-avx512" => Self { avx512_1: true, ..intel(4) },
            _ => Self { named: Some(hwcaps().find(|known| *known == name)?), ..Self::BASELINE },
        })
    }

    /// The names of processors for `--cpu`, sorted. [`Cpu::named`] also accepts aliases of
    /// `baseline`.
    pub fn names() -> Vec<&'static str> {
        let mut names: Vec<&str> =
            hwcaps().chain(["baseline", "haswell", "skylake-avx512"]).collect();
        names.arrange();
        names.dedup();
        names
    }

    /// The processor of this machine; `intel` is true if Intel made it.
    #[cfg(target_arch = "x86_64")]
    pub fn host(intel: bool) -> Self {
        use std::arch::is_x86_feature_detected as has;
        let v2 = has!("sse3")
            && has!("ssse3")
            && has!("sse4.1")
            && has!("sse4.2")
            && has!("popcnt")
            && has!("cmpxchg16b");
        let v3 = v2
            && has!("avx")
            && has!("avx2")
            && has!("bmi1")
            && has!("bmi2")
            && has!("f16c")
            && has!("fma")
            && has!("lzcnt")
            && has!("movbe");
        let v4 = v3
            && has!("avx512f")
            && has!("avx512bw")
            && has!("avx512cd")
            && has!("avx512dq")
            && has!("avx512vl");
        Self {
            x86_level: 1 + u8::from(v2) + u8::from(v3) + u8::from(v4),
            platform: (intel && v3).then_some("haswell"),
            avx512_1: intel && v4,
            named: None,
        }
    }

    /// A processor without extensions: the x86 rules do not apply to this machine.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn host(_intel: bool) -> Self {
        Self::BASELINE
    }
}
