//! What a run is to do, decided before the first file is opened. `cli::plan` makes it; every stage
//! sees it. It holds no facts of the audited files.

use crate::format::Reading;
use crate::format::deps_list::DepsList;
use crate::format::elf::machine::hwcaps;
use crate::id::FastSet;
use crate::policy::{Day, Pattern, Policy};
use crate::sniff::Classes;
use crate::wants::Wants;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

/// `--loader`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoaderRules {
    /// The GNU C library's.
    Glibc,
    /// musl's.
    Musl,
    /// The GNU C library's with Guix's cache of each package.
    Guix,
}

/// A program that loads shared objects with dlopen.
#[derive(Clone, Debug)]
pub struct HostFile {
    /// Where it lies.
    pub path: PathBuf,
    /// Over paths below the prefix: what it loads. Without it, what nothing else needs.
    pub plugins: Option<Pattern>,
}

/// Which archive is merged from a list.
#[derive(Clone, Debug)]
pub enum Which {
    /// The one in this file.
    File(PathBuf),
    /// Those that a policy's pattern matches.
    Policy(Pattern),
    /// The only one that can be meant.
    Found,
}

/// An archive that is merged from others, and the list of those.
#[derive(Clone, Debug)]
pub struct MergedFrom {
    /// The archive.
    pub which: Which,
    /// The list's file as it was named.
    pub path: PathBuf,
    /// The list, or the sentence why it cannot be read.
    pub list: Result<DepsList, String>,
    /// Which set takes the archives of which directory.
    pub from: Vec<(String, PathBuf)>,
}

/// What fixes are looked for.
#[derive(Clone, Debug, Default)]
pub struct FixRequest {
    /// The merged archive, if it is named.
    pub archive: Option<PathBuf>,
    /// Names that nothing needs leave the list.
    pub minimal: bool,
    /// Nothing is said where there is no merged archive: any archive may happen to define a name.
    pub merged_only: bool,
    /// A merged archive must be found.
    pub must_find: bool,
}

/// What runs decide for the stages.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The files and directories to audit, as typed.
    pub paths: Vec<PathBuf>,
    /// Files and directories of `--files-from`; one that does not exist is a finding.
    pub listed: Arc<[PathBuf]>,
    /// The store items of `--nix-closure`; empty without one.
    pub closure: Arc<FastSet<PathBuf>>,
    /// `--root` names another system.
    pub has_root: bool,
    /// `--staged` as typed: directories whose files are seen at their installed paths.
    pub stages: Vec<PathBuf>,
    /// `--prefix`, links resolved: paths and fingerprints are relative to it.
    pub prefix: Option<PathBuf>,
    /// `--lib-path`: more places to look for providers when a fix is proposed.
    pub lib_paths: Vec<PathBuf>,
    /// `--host`: programs that load shared objects with dlopen.
    pub hosts: Vec<HostFile>,
    /// Whose rules are followed, if that is not read from PT_INTERP and the libc beside it.
    pub loader: Option<LoaderRules>,
    /// Resolve as the system loader's `ldd` would, instead of as PT_INTERP would.
    pub as_ldd: bool,
    /// Every file is a root, as for `ldd FILE...`.
    pub every_file_is_root: bool,
    /// Programs that load plugins are inferred from what plugins lack.
    pub infer_hosts: bool,
    /// All bindings and exports are wanted.
    pub facts: bool,
    /// Second readers read everything again.
    pub cross_check: bool,
    /// What every object defines is asked: its dynamic tables are kept.
    pub definitions: bool,
    /// The members of all archives at hand are read, those of `--lib-path` too.
    pub members: bool,
    /// Names that those members are asked for.
    pub symbols: Vec<Box<[u8]>>,
    /// Results of one root are used for another where the loader could not tell them apart.
    pub reuse: bool,
    /// LD_LIBRARY_PATH as it will be at run time; empty for none.
    pub ld_library_path: Vec<u8>,
    /// LD_PRELOAD as it will be at run time; empty for none.
    pub ld_preload: Vec<u8>,
    /// The current directory, which empty and relative search entries mean.
    pub cwd: PathBuf,
    /// The directory was named, so that what depends on it is decided.
    pub cwd_stated: bool,
    /// The processor the audited files will run on.
    pub cpu: Cpu,
    /// The processor was named, so that what depends on it is decided.
    pub cpu_stated: bool,
    /// What policies say.
    pub policy: Arc<Policy>,
    /// What the enabled rules want to be read.
    pub rule_wants: Wants,
    /// The day on which waivers must not have expired.
    pub today: Day,
    /// Archives that are merged from others, with their lists.
    pub lists: Arc<Vec<MergedFrom>>,
    /// What fixes are looked for, if any are.
    pub fix: Option<Arc<FixRequest>>,
    /// How many threads work.
    pub threads: usize,
}

impl Plan {
    /// A run over `paths` in `cwd` with nothing else asked for, on a processor without extensions.
    pub fn new(paths: Vec<PathBuf>, cwd: PathBuf) -> Self {
        Self {
            paths,
            listed: Arc::default(),
            closure: Arc::default(),
            has_root: false,
            stages: Vec::new(),
            prefix: None,
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
            threads: 1,
        }
    }

    /// What is read of each file at first.
    pub fn reading(&self) -> Reading {
        let by_query = self.rule_wants.holds(Wants::DUPLICATE_DEFINITIONS)
            || self.rule_wants.holds(Wants::BOUND_LIBRARIES);
        let by_rules = self.rule_wants.holds(Wants::TABLES);
        Reading {
            classes: Classes::LINKAGE,
            tables: self.facts
                || self.definitions
                || self.members
                || self.cross_check
                || by_query
                || by_rules,
            lean: false,
            index: !self.members,
            names: !self.members || self.fix.as_ref().is_some_and(|request| request.minimal),
            relocations: by_query,
        }
    }

    /// What is read of files in places for providers. Libraries there say nothing about archives.
    pub fn provider_reading(&self) -> Reading {
        if self.members { Reading { lean: true, ..Reading::default() } } else { self.reading() }
    }

    /// True if what LD_LIBRARY_PATH or LD_PRELOAD mean differs from root to root, because they hold
    /// `$ORIGIN`.
    pub fn environment_varies(&self) -> bool {
        self.ld_library_path.contains(&b'$') || self.ld_preload.contains(&b'$')
    }

    /// All files and directories to audit.
    pub fn all_paths(&self) -> Cow<'_, [PathBuf]> {
        match (&*self.paths, &*self.listed) {
            (paths, []) => Cow::Borrowed(paths),
            ([], listed) => Cow::Borrowed(listed),
            (paths, listed) => Cow::Owned([paths, listed].concat()),
        }
    }
}

/// What a processor makes the loader prefer (`sysdeps/x86/cpu-features.c`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// 1 to 4: x86-64-v1 (baseline) to x86-64-v4.
    pub x86_level: u8,
    /// AT_PLATFORM as glibc changes it: `haswell` or `xeon_phi` on such Intel processors.
    pub platform: Option<&'static str>,
    /// HWCAP_X86_AVX512_1, set on Intel processors with AVX512 CD, BW, DQ and VL.
    pub avx512_1: bool,
    /// The `glibc-hwcaps` directory of a machine that is not x86, such as `power10`.
    pub named: Option<&'static str>,
}

impl Cpu {
    /// A processor without any extension.
    pub const BASELINE: Self = Self { x86_level: 1, platform: None, avx512_1: false, named: None };

    /// The processor that `--cpu` names: `baseline`, a `glibc-hwcaps` directory, or the Intel
    /// processor of such a level by GCC's name for it.
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

    /// The names that [`Cpu::named`] knows, sorted.
    pub fn names() -> Vec<&'static str> {
        let mut names: Vec<&str> =
            hwcaps().chain(["baseline", "haswell", "skylake-avx512"]).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The processor of this machine.
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

    /// The processor of this machine, of which the x86 rules want nothing.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn host(_intel: bool) -> Self {
        Self::BASELINE
    }
}
