//! `mixed-runtime`: parts of two builds of a language runtime in one process.

use super::copies::LoadedCopy;
use super::{Query, Rule};
use crate::catalogue::RUNTIME;
use crate::finding::{Evidence, EvidenceKind, Finding, Findings, When};
use crate::id::{FastMap, FileId, ModuleId, RootId};
use crate::resolve::{Closure, LOADER, ROOT};
use crate::text::{show, show_path};
use crate::wants::Wants;
use std::collections::BTreeMap;

pub(super) static RULE: Rule =
    Rule::new("mixed-runtime", RUNTIME, "a process loads parts of two runtimes", DOCS, check)
        .keys(&["library", "detail"])
        .of_all_loaded()
        // `may_load` adds evidence from dlopen notes.
        .wants(Wants::OWN_LOADERS.and(Wants::DLOPEN_NOTES));

const DOCS: &str = "\
## What it does

Looks at all files that one process loads, and reports:

- two files of `libc.so.6`, `libstdc++.so.6` or `libgcc_s.so.1`. A name with the hash of a Python wheel counts too
  (`libstdc++-a1b2c3d4.so.6.0.30`); for `libgcc_s`, the finding is then a warning
- a `libc.so.6` that is loaded by another `ld.so` than the one in its own directory, unless both have the same
  content
- as a warning, two OpenMP runtimes (`libgomp`, `libomp`, `libiomp5`) or two C++ ABI libraries (`libstdc++`,
  `libc++abi`)

## Why it matters

Parts of a runtime share private data. With two copies, memory is freed by another allocator, exceptions are not
caught, and thread-local state exists twice. A `libc.so.6` under the `ld.so` of another glibc build stops with
`symbol lookup error` or crashes before `main`. Two OpenMP runtimes start twice the threads, and the Intel one
aborts (`OMP: Error #15`).

## Example

```text
error[mixed-runtime] lib/libc.so.6: runs under /lib64/ld-linux-x86-64.so.2, not under its own loader
```

## How to fix

Take the whole process from one set of packages. For a store, set the interpreter and the RUNPATH to the same
glibc (`patchelf --set-interpreter`). For a bundle, remove the bundled runtime if the system has a newer one.
For OpenMP, build all parts with one compiler, or link them to one runtime.

## Limits

Only files in the closure of one entry point are compared: a runtime that another plugin brings into the same
process is not seen. Statically linked runtimes are not seen either. Files that may load one more copy with dlopen
are evidence (`may load`), as for `library-twice`.
";

/// Runtimes that a process should load from one file only, by soname.
const SINGLE: [&[u8]; 3] = [b"libc.so.6", b"libstdc++.so.6", LIBGCC];
const LIBGCC: &[u8] = b"libgcc_s.so.1";
/// Groups of runtimes: a process should load only one runtime of each group. Each row has the title
/// in messages, and the sonames up to `.so`. Python wheels add a hash to sonames
/// (`libgomp-a34b3233.so.1`).
const KINDS: [(&str, &[&[u8]]); 2] = [
    ("OpenMP runtimes", &[b"libgomp", b"libomp", b"libiomp5"]),
    ("C++ ABI libraries", &[b"libstdc++", b"libc++abi"]),
];

/// The number of hexadecimal digits of a hash in the name of a Python wheel's library.
const HASH: usize = 8;

/// The files that one finding is about.
type Files = Vec<FileId>;

/// The files of one finding, and the entry points that load them.
struct Fact {
    copies: Vec<LoadedCopy>,
    roots: Vec<RootId>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum MixtureKind {
    /// Two or more files of one runtime in [`SINGLE`]. The field is the index of the runtime.
    Twice(usize),
    /// A libc that the loader of another build loads. The field is the loader beside the libc.
    Loader(FileId),
    /// Two runtimes of one row of [`KINDS`]. The field is the index of the row.
    Kinds(usize),
}

fn check(query: &Query<'_>) -> Findings {
    let mut facts: BTreeMap<(MixtureKind, Files), Fact> = BTreeMap::new();
    // Results by link map. Closures with the same link map differ only in their entry point.
    let mut known: FastMap<usize, Vec<(MixtureKind, Vec<ModuleId>)>> = FastMap::default();
    for (root, closure) in query.entry_points() {
        let is_runtime = closure.root.host.is_some() || query.is_runtime(closure.root.file);
        let found = if is_runtime {
            runtimes(query, closure)
        } else {
            let all = known.entry(closure.links_id());
            all.or_insert_with(|| runtimes(query, closure)).clone()
        };
        for (kind, modules) in found {
            let mut copies: Vec<LoadedCopy> = modules
                .iter()
                .filter_map(|at| {
                    Some(LoadedCopy { file: closure.module(*at).file?, at: (root, *at) })
                })
                .collect();
            if !matches!(kind, MixtureKind::Loader(_)) {
                copies.sort_by_key(|copy| query.path(copy.file).as_os_str());
            }
            let files = copies.iter().map(|copy| copy.file).collect();
            let fact = facts.entry((kind, files));
            fact.or_insert_with(|| Fact { copies, roots: Vec::new() }).roots.push(root);
        }
    }
    facts.into_iter().map(|((kind, _), fact)| finding(query, &kind, &fact)).collect()
}

/// The mixtures of runtimes in one closure, each with the modules of these runtimes.
fn runtimes(query: &Query<'_>, closure: &Closure) -> Vec<(MixtureKind, Vec<ModuleId>)> {
    let mut out = Vec::new();
    let mut kinds: [Vec<(usize, ModuleId)>; KINDS.len()] = Default::default();
    let mut single: [Vec<(FileId, ModuleId)>; SINGLE.len()] = Default::default();
    for (module, file) in closure.in_scope() {
        let Some(soname) = query.facts(file).object().and_then(|object| object.soname()) else {
            continue;
        };
        if let Some(at) = single_of(soname)
            && single[at].iter().all(|(known, _)| *known != file)
        {
            single[at].push((file, module));
        }
        for (at, (_, names)) in KINDS.iter().enumerate() {
            let is = |name: &&&[u8]| is_of(soname, name);
            if let Some(which) = names.iter().position(|name| is(&name))
                // Two files of libstdc++.so.6 are reported as `Twice`.
                && (at == 0 || kinds[at].iter().all(|(known, _)| *known != which))
            {
                kinds[at].push((which, module));
            }
        }
    }
    for (at, files) in single.iter().enumerate().filter(|(_, files)| files.len() > 1) {
        out.push((MixtureKind::Twice(at), files.iter().map(|(_, module)| *module).collect()));
    }
    for (at, found) in kinds.iter().enumerate().filter(|(_, found)| found.len() > 1) {
        out.push((MixtureKind::Kinds(at), found.iter().map(|(_, module)| *module).collect()));
    }
    let loader = closure.module(LOADER).file;
    // A libc.so.6 that is itself the entry point is skipped: as a program, it only prints its
    // version.
    for (libc, module) in single[0].iter().filter(|(_, module)| *module != ROOT) {
        if let Some(own) = loader.and_then(|loader| query.own_loader(*libc, loader)) {
            out.push((MixtureKind::Loader(own), vec![*module, LOADER]));
        }
    }
    out
}

/// The index in [`SINGLE`] of the runtime with this soname; `None` for other libraries. auditwheel
/// makes sonames from file names: such sonames contain hashes (see [`version_of`]) and may end with
/// a longer version.
pub(super) fn single_of(soname: &[u8]) -> Option<usize> {
    SINGLE.iter().position(|name| {
        let end = memchr::memmem::find(name, b".so").unwrap_or(name.len());
        let (stem, version) = name.split_at(end);
        let is_hashed = || soname.get(stem.len()) == Some(&b'-');
        let rest = || version_of(soname, stem)?.strip_prefix(version);
        let is_version = |rest: &[u8]| rest.is_empty() || rest.starts_with(b".");
        *name == soname || is_hashed() && rest().is_some_and(is_version)
    })
}

/// True if a soname is `name` with a version, and perhaps with hashes.
fn is_of(soname: &[u8], name: &[u8]) -> bool {
    version_of(soname, name).is_some()
}

/// The version of a soname that is `name` with a version: `.so.1` of `libgomp.so.1`. auditwheel
/// adds `-` and the first eight hexadecimal digits of a hash: `libgomp-a34b3233.so.1.0.0`. If
/// auditwheel repairs a wheel twice, the name has two hashes. `None` for sonames with other
/// suffixes: these belong to other libraries, such as the plugin `libgomp-plugin-nvptx.so.1`.
fn version_of<'s>(soname: &'s [u8], name: &[u8]) -> Option<&'s [u8]> {
    let mut rest = soname.strip_prefix(name)?;
    while let Some((hash, after)) = rest.strip_prefix(b"-").and_then(|r| r.split_at_checked(HASH))
        && hash.iter().all(u8::is_ascii_hexdigit)
    {
        rest = after;
    }
    rest.starts_with(b".so").then_some(rest)
}

fn finding(query: &Query<'_>, kind: &MixtureKind, fact: &Fact) -> Box<Finding> {
    let first = fact.copies[0];
    // The report names the first file before the message.
    let others = fact.copies.iter().skip(1).map(|copy| show_path(query.path(copy.file)));
    let others = others.collect::<Vec<_>>().join(" and ");
    let (message, detail) = match kind {
        MixtureKind::Twice(at) => {
            let name = show(SINGLE[*at]);
            let times = match fact.copies.len() {
                2 => "twice".to_owned(),
                n => format!("{n} times"),
            };
            (format!("{name} is loaded {times}, here and from {others}"), "copies")
        }
        MixtureKind::Loader(_) => {
            (format!("runs under {others}, not under its own loader"), "ld.so")
        }
        MixtureKind::Kinds(at) => {
            let names: Vec<String> =
                fact.copies.iter().map(|copy| query.library_text(copy.file)).collect();
            let number = match names.len() {
                2 => "two".to_owned(),
                n => n.to_string(),
            };
            (format!("{number} {}: {}", KINDS[*at].0, names.join(" and ")), "kinds")
        }
    };
    let mut finding = query.about(RULE.id, first.file, message);
    finding.mild = match kind {
        MixtureKind::Twice(at) => {
            let is_renamed = |copy: &LoadedCopy| query.library_name(copy.file) != SINGLE[*at];
            SINGLE[*at] == LIBGCC && fact.copies.iter().any(is_renamed)
        }
        MixtureKind::Loader(_) => false,
        MixtureKind::Kinds(_) => true,
    };
    let library = match kind {
        MixtureKind::Twice(at) => SINGLE[*at],
        _ => query.library_name(first.file),
    };
    finding.library = Some(library.to_vec());
    finding.detail = Some(detail.into());
    finding.when = matches!(kind, MixtureKind::Loader(_)).then_some(When::Load);
    finding.root = query.first_root(&fact.roots);
    finding.evidence.extend(query.roots(&fact.roots, None));
    finding.evidence.extend(fact.copies.iter().map(|copy| query.copy(*copy)));
    if let MixtureKind::Loader(own) = kind {
        let evidence = Evidence::at(EvidenceKind::Candidate, query.shared_path(*own));
        let reason = Some("the libc's own loader, which this process does not use".to_owned());
        finding.evidence.push(Evidence { reason, ..evidence });
    }
    finding
}

impl Query<'_> {
    /// True if a file is one of the runtimes in [`SINGLE`] and [`KINDS`].
    fn is_runtime(&self, file: FileId) -> bool {
        let name = self.library_name(file);
        let kinds = KINDS.iter().flat_map(|(_, names)| names.iter());
        single_of(name).is_some() || kinds.into_iter().any(|begin| is_of(name, begin))
    }
}

#[cfg(test)]
mod tests {
    use super::{SINGLE, is_of, single_of};

    /// A wheel's `libgomp-a34b3233.so.1.0.0` is libgomp; Debian's `libgomp-plugin-nvptx.so.1` is
    /// not.
    #[test]
    fn names_of_runtimes() {
        let is_gomp = |soname: &str| is_of(soname.as_bytes(), b"libgomp");
        let accepted = [
            "libgomp.so.1",
            "libgomp-a34b3233.so.1.0.0",
            "libgomp-d22c30c5.so.1",
            "libgomp-040039e1-0352e75f.so.1.0.0",
        ];
        assert_eq!(accepted.map(is_gomp), [true; 4]);
        let others = [
            "libgomp-plugin-nvptx.so.1",
            "libgomp-plugin.so.1",
            "libgomp-.so.1",
            "libgomp-a34b.so.1",
            "libgomp-a34b3233",
            "libgomp-a34b3233-plugin.so.1",
            "libgomp2.so.1",
        ];
        assert_eq!(others.map(is_gomp), [false; 7]);
    }

    /// A wheel's `libstdc++-a1b2c3d4.so.6.0.30` is another file of `libstdc++.so.6`.
    #[test]
    fn names_of_single_runtimes() {
        let single = |soname: &str| single_of(soname.as_bytes()).map(|at| SINGLE[at]);
        let (cxx, gcc) = (Some(&b"libstdc++.so.6"[..]), Some(&b"libgcc_s.so.1"[..]));
        for (soname, expected) in [
            ("libstdc++.so.6", cxx),
            ("libstdc++-a1b2c3d4.so.6.0.30", cxx),
            ("libstdc++-a1b2c3d4.so.6", cxx),
            ("libstdc++-040039e1-0352e75f.so.6.0.30", cxx),
            ("libgcc_s-0f1e2d3c.so.1", gcc),
            ("libgcc_s-0f1e2d3c.so.10", None),
            ("libstdc++-a1b2c3d4.so.5.0.7", None),
            ("libstdc++-a1b2c3.so.6", None),
            ("libstdc++.so.6.0.30", None),
            ("libstdc++exp.so.6", None),
        ] {
            assert_eq!(single(soname), expected, "{soname}");
        }
    }
}
