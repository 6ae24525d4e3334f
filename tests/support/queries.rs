//! Compares the binding queries with all bindings (`Plan::facts`), which other tests compare with
//! the loader itself. For every entry point, the queries must return exactly the names that two
//! libraries of the scope define differently, with the same winner for each reference of a library.
//! They must also return the same libraries for each object. The comparison searches every object
//! of the scope for each name.
#![allow(dead_code, reason = "every test binary uses its own part of this module")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

use linkaudit::audit::{self, Audit};
use linkaudit::bind::lookup::wanted;
use linkaudit::bind::query::alike::is_part_of_libc;
use linkaudit::bind::relocation_pass::EXACT_FIRST;
use linkaudit::bind::symbol_query::reference_version;
use linkaudit::facts::replacing::is_replaceable;
use linkaudit::format::elf::find::SymbolQuery;
use linkaudit::format::elf::tables::binds_local;
use linkaudit::format::elf::{Object, SymbolIndex, hash};
use linkaudit::id::{Id, ModuleId, RootId};
use linkaudit::plan::{Cpu, Plan};
use linkaudit::resolve::loader::Family;
use linkaudit::resolve::{Closure, ROOT};
use linkaudit::tree::DiskTree;
use linkaudit::wants::Wants;
use object::elf;

/// Counts and differences of a comparison.
#[derive(Default)]
pub struct Compared {
    pub roots: usize,
    pub bindings: usize,
    /// References to names with several definitions.
    pub duplicates: usize,
    /// Pairs of an object and a library that it binds to.
    pub bound: usize,
    pub differences: Vec<String>,
}

impl Compared {
    pub fn add(&mut self, other: Self) {
        self.roots += other.roots;
        self.bindings += other.bindings;
        self.duplicates += other.duplicates;
        self.bound += other.bound;
        self.differences.extend(other.differences);
    }

    /// Prints the counts, and fails if anything differs.
    pub fn finish(self, what: &str) {
        println!(
            "binding queries: {what}: {} entry points, {} bindings, {} references to duplicate names, \
             {} bound libraries, {} differences",
            self.roots,
            self.bindings,
            self.duplicates,
            self.bound,
            self.differences.len()
        );
        let first: Vec<&str> = self.differences.iter().take(20).map(String::as_str).collect();
        assert!(first.is_empty(), "{what}:\n{}", first.join("\n"));
    }
}

/// A plan that audits these files, each an entry point, as `ldd` would load it.
pub fn plan(files: Vec<PathBuf>, cwd: &Path) -> Plan {
    let (as_ldd, every_file_is_root, threads) = (true, true, 2);
    let cpu = Cpu::host(is_intel());
    Plan { as_ldd, every_file_is_root, threads, cpu, ..Plan::new(files, cwd.to_owned()) }
}

fn is_intel() -> bool {
    std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains("GenuineIntel"))
}

/// Audits with both queries.
pub fn queried(plan: &Plan) -> Audit {
    let rule_wants = Wants::DUPLICATE_DEFINITIONS.and(Wants::BOUND_LIBRARIES);
    run(&Plan { rule_wants, ..plan.clone() })
}

fn run(plan: &Plan) -> Audit {
    // Relative paths start at `plan.cwd`, which is not the directory of the test process.
    let tree = DiskTree::new().seen_from(plan.cwd.clone());
    let input = audit::read(plan, &tree, &AtomicUsize::new(0));
    audit::audit(plan, &tree, audit::collect(plan, &tree, input))
}

/// Audits with all bindings.
pub fn bound(plan: &Plan) -> Audit {
    run(&Plan { facts: true, ..plan.clone() })
}

/// Audits `plan` with all bindings and with the queries, and compares the two.
pub fn compare(plan: &Plan) -> Compared {
    compare_with(&bound(plan), plan)
}

/// All bindings under an entry point as LD_DEBUG=bindings names them: referring object, symbol,
/// version, defining object.
pub fn bindings(audit: &Audit, root: RootId) -> BTreeSet<(String, String, Option<String>, String)> {
    let under = Under { audit, closure: &audit.closures.roots[root], root };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let named = |binding: &linkaudit::bind::Binding| {
        let object = under.object(binding.module)?;
        let version = object.versions.entry(reference_version(object, binding.symbol));
        Some((
            under.path(binding.module),
            text(object.symbol_name(binding.symbol)),
            version.map(|entry| text(object.str(entry.name))),
            under.path(binding.provider),
        ))
    };
    under.bindings().iter().filter_map(named).collect()
}

/// Compares all bindings with the queries of an audit of the same `plan`.
pub fn compare_with(all: &Audit, plan: &Plan) -> Compared {
    let queried = queried(plan);
    let mut out = Compared::default();
    let (theirs, ours) = (&all.closures.roots, &queried.closures.roots);
    assert_eq!(theirs.len(), ours.len(), "the same entry points");
    for root in theirs.ids() {
        let under = Under { audit: all, closure: &theirs[root], root };
        assert_eq!(all.root_path(root), queried.root_path(root), "the same order");
        let name = all.root_path(root).display();
        out.roots += 1;
        out.bindings += under.audit.bindings[root.index()].bindings.len();
        let bound = under.bound();
        let answered: BTreeSet<Pair> =
            queried.bound_libraries(root).iter().map(|b| (b.module, b.provider)).collect();
        for pair in bound.symmetric_difference(&answered) {
            let who = if bound.contains(pair) { "only the bindings" } else { "only the query" };
            let (module, provider) = (under.path(pair.0), under.path(pair.1));
            out.differences.push(format!("{name}: {who}: {module} binds to {provider}"));
        }
        out.bound += bound.len();
        let duplicates = under.duplicates();
        let answered = answered_duplicates(&queried, root);
        for (name_of, version, definers, referrer) in duplicates.symmetric_difference(&answered) {
            let item = (name_of.clone(), version.clone(), definers.clone(), *referrer);
            let who =
                if duplicates.contains(&item) { "only the bindings" } else { "only the query" };
            let text = String::from_utf8_lossy(name_of);
            let version = version.as_ref().map(|version| String::from_utf8_lossy(version));
            out.differences
                .push(format!("{name}: {who}: {text} {version:?} of {definers:?}: {referrer:?}"));
        }
        out.duplicates += duplicates.len();
    }
    out
}

type Pair = (ModuleId, ModuleId);
/// Name, version, modules that define it, and a reference: module, symbol, winner.
type Reference = (Vec<u8>, Option<Vec<u8>>, Vec<ModuleId>, (ModuleId, SymbolIndex, ModuleId));

fn answered_duplicates(audit: &Audit, root: RootId) -> BTreeSet<Reference> {
    let mut out = BTreeSet::new();
    for duplicate in audit.duplicate_definitions(root) {
        let definers: Vec<ModuleId> = duplicate.definitions.iter().map(|d| d.module).collect();
        for referrer in &duplicate.referrers {
            let losers = duplicate.losers(*referrer).count();
            let wins = definers.contains(&referrer.winner);
            assert_eq!(losers + usize::from(wins), definers.len(), "a winner and its losers");
            out.insert((
                duplicate.name.to_vec(),
                duplicate.version.as_deref().map(<[u8]>::to_vec),
                definers.clone(),
                (referrer.module, referrer.symbol, referrer.winner),
            ));
        }
    }
    out
}

/// All bindings under one entry point.
struct Under<'a> {
    audit: &'a Audit,
    closure: &'a Closure,
    root: RootId,
}

impl<'a> Under<'a> {
    fn bindings(&self) -> &'a [linkaudit::bind::Binding] {
        &self.audit.bindings[self.root.index()].bindings
    }

    fn path(&self, module: ModuleId) -> String {
        String::from_utf8_lossy(self.audit.text(self.closure.module(module).path)).into_owned()
    }

    fn object(&self, module: ModuleId) -> Option<&'a Object> {
        self.audit.corpus.files[self.closure.module(module).file?].object()
    }

    fn bound(&self) -> BTreeSet<Pair> {
        let pairs = self.bindings().iter().map(|b| (b.module, b.provider));
        pairs.filter(|(module, provider)| module != provider).collect()
    }

    fn duplicates(&self) -> BTreeSet<Reference> {
        let mut out = BTreeSet::new();
        let bound = &self.audit.bindings[self.root.index()];
        if bound.abort.is_some() || bound.checked.stop.is_some() || self.closure.fatal().is_some() {
            return out;
        }
        for binding in self.bindings().iter().filter(|binding| binding.module != ROOT) {
            let Some(object) = self.object(binding.module) else { continue };
            let name = object.symbol_name(binding.symbol);
            let (version, definers) = self.definers(object, binding.module, name, binding.symbol);
            let modules: Vec<ModuleId> = definers.iter().map(|(module, _)| *module).collect();
            if self.differ(name, &definers) {
                let reference = (binding.module, binding.symbol, binding.provider);
                out.insert((name.to_vec(), version, modules, reference));
            }
        }
        out
    }

    /// True if two libraries define the name, and the definitions are not interchangeable. Names
    /// that are often replaced are interchangeable. So are inline functions, templates, class data
    /// of one size, and names of parts of one glibc.
    fn differ(&self, name: &[u8], definers: &[(ModuleId, SymbolIndex)]) -> bool {
        let (mut kinds, mut strong, mut is_libc) = (BTreeSet::new(), 0, true);
        let libraries = definers.iter().filter(|(module, _)| *module != ROOT);
        for (module, symbol) in libraries.clone() {
            let tables = self.object(*module).and_then(|object| object.tables.as_ref());
            let symbol = tables.and_then(|tables| tables.symbol(*symbol)).expect("a definition");
            strong += usize::from(symbol.bind == 1);
            is_libc &= self.object(*module).is_some_and(is_part_of_libc);
            let any_size = symbol.kind == 2 && name.starts_with(b"_Z");
            kinds.insert((symbol.kind, if any_size { 0 } else { symbol.size }));
        }
        let may_be_strong = match strong {
            0 => true,
            1 => name.starts_with(b"_Z"),
            _ => ["_ZTI", "_ZTS", "_ZTV", "_ZTT", "_ZZ"]
                .iter()
                .any(|b| name.starts_with(b.as_bytes())),
        };
        let alike = may_be_strong && kinds.len() == 1;
        let is_glibc = matches!(self.audit.loader(self.root).family, Family::Glibc);
        let file = |(module, _): &(ModuleId, SymbolIndex)| self.closure.module(*module).file;
        let files: BTreeSet<_> = libraries.map(file).map(|file| file.map(Id::index)).collect();
        let excused = alike || is_libc && is_glibc || is_replaceable(name);
        files.len() > 1 && !excused
    }

    /// The version that a reference asks for, and the modules that define the name in that version,
    /// each with the index of its symbol.
    fn definers(
        &self,
        object: &Object,
        module: ModuleId,
        name: &[u8],
        symbol: SymbolIndex,
    ) -> (Option<Vec<u8>>, Vec<(ModuleId, SymbolIndex)>) {
        let loader = self.audit.loader(self.root);
        let scope = || self.closure.in_scope();
        if let Family::Musl(_) = loader.family {
            let definer =
                |(module, _)| Some((module, self.object(module)?.find_musl(name, false)?.symbol));
            return (None, scope().filter_map(definer).collect());
        }
        let limit = self.closure.module(module).version_limit;
        let version = wanted(object, reference_version(object, symbol), limit);
        let mut query = SymbolQuery::new(name, hash::gnu(name), version);
        query.plt = false;
        query.exact_first = loader.release >= EXACT_FIRST;
        let definer = |(module, _)| {
            let limit = self.closure.module(module).version_limit;
            let object = self.object(module)?;
            let found = object.find(&query, limit)?;
            // A lookup finds an undefined thread-local entry of a SysV table, but never accepts it.
            let symbol = object.tables.as_ref()?.symbol(found.symbol)?;
            let placed = !found.undefined || symbol.value != 0;
            let global = [elf::STB_GLOBAL, elf::STB_WEAK, elf::STB_GNU_UNIQUE];
            let global = global.contains(&elf::SymbolBind(found.bind));
            (placed && global && !binds_local(found.visibility)).then_some((module, found.symbol))
        };
        let definers = scope().filter_map(definer).collect();
        (version.map(|version| version.name.to_vec()), definers)
    }
}
