//! The oldest platform that the audited files satisfy, if a policy names a platform. Also the
//! obstacles to the next older platform: libraries, versions and symbols that the older platform
//! lacks. The policy's platforms select only the libc. The files are compared with all of
//! auditwheel's platforms for that libc.

use crate::audit::Audit;
use crate::format::elf::{Object, RefKind, machine};
use crate::id::FileId;
use crate::order;
use crate::plan::Plan;
use crate::policy::{Arch, Libc, Platform, PlatformRules, built_in_platforms};
use crate::text::{show, show_path};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The oldest platform that the files of one architecture satisfy, and the obstacles to the next
/// older platform.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlatformResult {
    /// The architecture, as platform tags name it.
    pub arch: String,
    /// The oldest platform that all files satisfy, without architecture; `None` if there is none.
    pub satisfies: Option<String>,
    /// The platform that is one step older than `satisfies`. If the files satisfy no platform, the
    /// newest platform. `None` if they satisfy the oldest platform.
    pub next: Option<String>,
    /// The obstacles to `next`.
    pub blocked_by: Vec<Blocker>,
}

/// A dependency that a platform does not provide.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Blocker {
    /// The kind of the dependency.
    pub kind: BlockerKind,
    /// The soname, version or symbol.
    pub name: String,
    /// The library that should define the version or symbol; `None` for a library.
    pub library: Option<String>,
    /// Number of files that need it.
    pub files: usize,
    /// The path of the first of these files, relative to its prefix.
    pub path: String,
}

/// Kinds of obstacles.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockerKind {
    /// A library that neither the prefix nor the platform provides.
    Library,
    /// A symbol version that the platform's library does not have.
    Version,
    /// A symbol that the platform's library does not export.
    Symbol,
}

/// The key of an obstacle: kind, name and library.
type BlockerKey<'a> = (BlockerKind, &'a [u8], Option<&'a [u8]>);

/// The results by architecture, for each libc that one of the policy's platforms has.
pub(super) fn results(audit: &Audit, plan: &Plan) -> Vec<PlatformResult> {
    let asked = &plan.policy.platforms;
    if asked.is_empty() {
        return Vec::new();
    }
    let needed = Needed::of(audit);
    let families = [Libc::Glibc, Libc::Musl].into_iter();
    let families = families.filter(|libc| asked.iter().any(|platform| platform.libc == *libc));
    let of_family = |libc| {
        let platforms = built_in_platforms(libc);
        let result =
            |(arch, objects): (&Arch, &Vec<_>)| result(audit, &needed, &platforms, *arch, objects);
        needed.objects.iter().filter_map(result).collect::<Vec<_>>()
    };
    families.flat_map(of_family).collect()
}

/// The audited objects by architecture. `outside` has the needed names for which no file was
/// loaded, each with the file that needs it. The policy provides these libraries, or they were not
/// found.
struct Needed<'a> {
    objects: BTreeMap<Arch, Vec<(FileId, &'a Object)>>,
    outside: BTreeSet<(FileId, &'a [u8])>,
}

impl<'a> Needed<'a> {
    fn of(audit: &'a Audit) -> Self {
        let mut objects: BTreeMap<Arch, Vec<(FileId, &Object)>> = BTreeMap::new();
        for (file, facts) in audit.corpus.files.entries().filter(|(_, facts)| facts.audited) {
            let Some(object) = facts.object().filter(|object| object.is_dynamic()) else {
                continue;
            };
            let row = machine::of(object.header.target());
            if let Some(arch) = row.and_then(|row| Arch::of_machine(row.name)) {
                objects.entry(arch).or_default().push((file, object));
            }
        }
        let mut outside = BTreeSet::new();
        for closure in &audit.closures.roots {
            let stubs = closure.edges().iter().filter(|edge| closure.module(edge.to).is_stub());
            outside.extend(
                stubs.filter_map(|edge| {
                    Some((closure.module(edge.from).file?, audit.text(edge.name)))
                }),
            );
        }
        Self { objects, outside }
    }

    /// The obstacles that keep `objects` from a platform. Each obstacle has the files that it
    /// affects.
    fn obstacles(
        &self,
        (platform, rules, arch): (&Platform, &'a PlatformRules, Arch),
        objects: &[(FileId, &'a Object)],
    ) -> BTreeMap<BlockerKey<'a>, Vec<FileId>> {
        let mut out: BTreeMap<BlockerKey<'_>, Vec<FileId>> = BTreeMap::new();
        let mut add = |key, file| out.entry(key).or_default().push(file);
        for (file, object) in objects {
            let own = self.outside.range((*file, &b""[..])..).take_while(|(of, _)| of == file);
            for (_, name) in own.filter(|(_, name)| !platform.provides(name, arch)) {
                add((BlockerKind::Library, name, None), *file);
            }
            for need in &object.versions.needs {
                let library = object.str(need.file);
                for version in need.versions.iter().map(|version| object.str(version.name)) {
                    if rules.lacks_version(library, version) {
                        add((BlockerKind::Version, version, Some(library)), *file);
                    }
                }
            }
            let strong = |kind| matches!(kind, RefKind::Strong | RefKind::Canonical);
            let needs = |name: &[u8]| object.needs.iter().any(|need| object.str(need.name) == name);
            let references = object.references.iter().filter(|r| strong(r.kind));
            let referred: BTreeSet<&[u8]> =
                order::set(references.map(|r| object.reference_name(r)));
            for entry in &rules.forbidden {
                let symbol = entry.symbol.text().as_bytes();
                let library = entry.library.as_ref().map(|library| library.text().as_bytes());
                if referred.contains(symbol) && library.is_some_and(needs) {
                    add((BlockerKind::Symbol, symbol, library), *file);
                }
            }
        }
        out
    }
}

/// The result for one architecture. `None` if no platform supports the architecture. `platforms`
/// starts with the oldest.
fn result<'a>(
    audit: &'a Audit,
    needed: &Needed<'a>,
    platforms: &'a [Platform],
    arch: Arch,
    objects: &[(FileId, &'a Object)],
) -> Option<PlatformResult> {
    let known = platforms.iter().filter_map(|one| Some((one, one.rules.get(&arch)?, arch)));
    let mut next = None;
    let mut obstacles = BTreeMap::new();
    let mut satisfies = None;
    for candidate in known {
        let own = needed.obstacles(candidate, objects);
        if own.is_empty() {
            satisfies = Some(candidate.0.name.clone());
            break;
        }
        next = Some(candidate.0.name.clone());
        obstacles = own;
    }
    if satisfies.is_none() && next.is_none() {
        return None;
    }
    let blocker = |((kind, name, library), files): (BlockerKey<'_>, Vec<FileId>)| {
        let path = |file: &FileId| audit.prefixes.locate(&audit.corpus.files[*file].path).path;
        let first = files.iter().map(path).min().unwrap_or_default();
        let library = library.map(show);
        Blocker { kind, name: show(name), library, files: files.len(), path: show_path(&first) }
    };
    let blocked_by = obstacles.into_iter().map(blocker).collect();
    Some(PlatformResult { arch: arch.name().to_owned(), satisfies, next, blocked_by })
}
