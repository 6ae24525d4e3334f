//! Compares the binding queries for this machine's programs and libraries with all bindings of the
//! audit, and for fifty programs with the loader itself. `tests/loader/bindings.rs` compares all
//! bindings with the loader.
//!
//! `cargo test` compares a sample; `LINKAUDIT_SWEEP=all` compares every file of /usr/bin and
//! /usr/lib.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use crate::support::ld_debug;
use crate::support::queries;
use crate::support::random::is_sweep;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use linkaudit::audit::Audit;
use linkaudit::facts::replacing::is_replaceable;
use linkaudit::id::{ModuleId, RootId};
use linkaudit::plan::Plan;
use queries::{Compared, compare, plan, queried};

/// Number of files in a sample.
const SAMPLE: usize = 100;
/// Number of files that are audited together: all bindings of many entry points take much memory.
const AT_ONCE: usize = 250;

/// ELF files below `dir`, in byte order.
fn elf_files(dir: &str, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = match Path::new(dir).read_dir() {
        Ok(entries) => entries.filter_map(Result::ok).collect(),
        Err(_) => return,
    };
    entries.sort_unstable_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => elf_files(path.to_str().unwrap_or("/dev/null"), out),
            Ok(kind) if kind.is_file() => {
                let mut magic = [0; 4];
                let read = std::fs::File::open(&path).and_then(|mut f| f.read_exact(&mut magic));
                if read.is_ok() && magic == *b"\x7fELF" {
                    out.push(path);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn all_bindings_say_the_same() {
    let mut files = Vec::new();
    elf_files("/usr/bin", &mut files);
    elf_files("/usr/lib", &mut files);
    let all = is_sweep();
    let step = if all { 1 } else { files.len().div_ceil(SAMPLE).max(1) };
    let chosen: Vec<PathBuf> = files.into_iter().step_by(step).collect();
    let mut compared = Compared::default();
    for (number, part) in chosen.chunks(AT_ONCE).enumerate() {
        let as_ldd = plan(part.to_vec(), Path::new("/"));
        // Every second part is started, not traced; every third one reuses nothing.
        let (as_ldd_too, reuse) = (number % 2 == 0 && all, number % 3 != 2);
        let plan = Plan { as_ldd: as_ldd_too, reuse, ..as_ldd.clone() };
        compared.add(compare(&plan));
        if !all {
            compared.add(compare(&as_ldd));
            compared.add(compare(&Plan { reuse: false, ..as_ldd }));
        }
    }
    compared.finish(if all { "all of /usr/bin and /usr/lib" } else { "a sample of /usr" });
}

/// A definition, read by a second reader. Version indices 0 and 1 stand for no version.
struct Export {
    index: u16,
    version: Option<String>,
    is_default: bool,
    bind: u8,
    kind: u8,
    size: u64,
}

/// The definitions of a file, by name.
type Exports = BTreeMap<String, Vec<Export>>;

fn exports(path: &Path) -> Exports {
    let bytes = std::fs::read(path).expect("a file");
    let elf = goblin::elf::Elf::parse(&bytes).expect("an ELF file");
    let mut versions: BTreeMap<u16, String> = BTreeMap::new();
    for def in elf.verdef.iter().flat_map(goblin::elf::VerdefSection::iter) {
        let name = def.iter().next().and_then(|aux| elf.dynstrtab.get_at(aux.vda_name));
        if def.vd_flags & 1 == 0 {
            versions.insert(def.vd_ndx & 0x7fff, name.unwrap_or_default().to_owned());
        }
    }
    let mut out = Exports::new();
    for (index, symbol) in elf.dynsyms.iter().enumerate() {
        let visible = matches!(symbol.st_visibility(), 0 | 3);
        let bound = matches!(symbol.st_bind(), 1 | 2 | 10);
        let kind = matches!(symbol.st_type(), 0 | 1 | 2 | 5 | 6 | 10);
        let placed = symbol.st_value != 0 || symbol.st_type() == 6 || symbol.st_shndx == 0xfff1;
        let canonical = symbol.st_shndx == 0 && symbol.st_value != 0;
        if !(visible && bound && kind && placed && (symbol.st_shndx != 0 || canonical)) {
            continue;
        }
        let name = elf.dynstrtab.get_at(symbol.st_name).unwrap_or_default();
        let versym = elf.versym.as_ref().and_then(|table| table.get_at(index));
        let versym = versym.map_or(1, |versym| versym.vs_val);
        let version = versions.get(&(versym & 0x7fff)).cloned();
        let (bind, kind, size) = (symbol.st_bind(), symbol.st_type(), symbol.st_size);
        let (index, is_default) = (versym & 0x7fff, versym & 0x8000 == 0);
        let export = Export { index, version, is_default, bind, kind, size };
        out.entry(name.to_owned()).or_default().push(export);
    }
    out
}

/// The definition that answers a reference to `version`, if any does (`check_match`).
fn answer<'e>(definitions: &'e [Export], version: Option<&str>) -> Option<&'e Export> {
    let mut visible = definitions.iter().filter(|export| export.is_default);
    match version {
        None => definitions.iter().find(|export| export.index < 3).or_else(|| {
            let only = visible.next();
            only.filter(|_| visible.next().is_none())
        }),
        Some(wanted) => definitions.iter().find(|export| match &export.version {
            Some(version) => version == wanted,
            None => export.is_default,
        }),
    }
}

/// True if two libraries define a name, and the definitions are not interchangeable; see
/// `support::queries`.
fn differ(name: &str, definitions: &[&Export], is_libc: bool) -> bool {
    let kinds: BTreeSet<(u8, u64)> = definitions
        .iter()
        .map(|e| (e.kind, if e.kind == 2 && name.starts_with("_Z") { 0 } else { e.size }))
        .collect();
    let may_be_strong = match definitions.iter().filter(|e| e.bind == 1).count() {
        0 => true,
        1 => name.starts_with("_Z"),
        _ => ["_ZTI", "_ZTS", "_ZTV", "_ZTT", "_ZZ"].iter().any(|begin| name.starts_with(begin)),
    };
    let alike = may_be_strong && kinds.len() == 1;
    definitions.len() > 1 && !alike && !is_libc && !is_replaceable(name.as_bytes())
}

fn by_path(audit: &Audit, root: RootId, module: ModuleId) -> String {
    let path = audit.closures.roots[root].module(module).path;
    String::from_utf8_lossy(audit.text(path)).into_owned()
}

#[test]
fn fifty_programs() {
    let all = ld_debug::programs();
    assert!(all.len() >= ld_debug::PROGRAMS, "/usr/bin has only {} fitting programs", all.len());
    let chosen = ld_debug::spread(&all);
    let audit = queried(&plan(chosen.clone(), Path::new("/")));
    let mut known: BTreeMap<String, Exports> = BTreeMap::new();
    let (mut references, mut pairs, mut differences) = (0, 0, Vec::new());
    for root in audit.closures.roots.ids() {
        let program = audit.root_path(root);
        let traced = ld_debug::traced(program);
        let theirs: BTreeSet<(String, String)> = traced
            .iter()
            .map(|(file, _, _, provider)| (file.clone(), provider.clone()))
            .filter(|(file, provider)| file != provider)
            .collect();
        let ours: BTreeSet<(String, String)> = audit
            .bound_libraries(root)
            .iter()
            .map(|b| (by_path(&audit, root, b.module), by_path(&audit, root, b.provider)))
            .collect();
        pairs += theirs.len();
        for pair in theirs.symmetric_difference(&ours) {
            differences.push(format!("{}: bound: {pair:?}", program.display()));
        }
        let scope: Vec<String> = audit.closures.roots[root]
            .in_scope()
            .map(|(module, _)| by_path(&audit, root, module))
            .collect();
        for path in &scope {
            known.entry(path.clone()).or_insert_with(|| exports(Path::new(path)));
        }
        let is_duplicate = |(file, name, version, _): &&ld_debug::Binding| {
            let defined = |path: &String| answer(known[path].get(name)?, version.as_deref());
            let defining = || scope[1..].iter().filter(|path| defined(path).is_some());
            let is_part = |path: &String| known[path].contains_key("GLIBC_PRIVATE");
            let libraries: Vec<&Export> = defining().filter_map(defined).collect();
            *file != scope[0] && differ(name, &libraries, defining().all(is_part))
        };
        let theirs: BTreeSet<ld_debug::Binding> =
            traced.iter().filter(is_duplicate).cloned().collect();
        let mut ours: BTreeSet<ld_debug::Binding> = BTreeSet::new();
        for duplicate in audit.duplicate_definitions(root) {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (name, version) = (text(&duplicate.name), duplicate.version.as_deref().map(text));
            for referrer in &duplicate.referrers {
                let referring = by_path(&audit, root, referrer.module);
                let winner = by_path(&audit, root, referrer.winner);
                ours.insert((referring, name.clone(), version.clone(), winner));
            }
        }
        references += theirs.len();
        for binding in theirs.symmetric_difference(&ours) {
            let who = if ours.contains(binding) { "the query" } else { "the loader" };
            differences.push(format!("{}: only {who}: {binding:?}", program.display()));
        }
    }
    println!(
        "binding queries: {} programs against the loader: {references} references to duplicate names, \
         {pairs} bound libraries, {} differences",
        chosen.len(),
        differences.len()
    );
    assert!(references > 0 && pairs > 0, "nothing was compared");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Two libraries with one name of data, one of a function and one of an inline function, and a
/// program that copies the data.
#[test]
fn two_libraries_of_one_name() {
    let lab = support::Lab::new();
    for (name, size) in [("a", 2), ("b", 4)] {
        let source = format!(
            "int data[{size}] = {{1}}; int twice(void) {{ return {size}; }} \
             __attribute__((weak)) int alike(void) {{ return 1; }} \
             int call_{name}(void) {{ return twice() + data[1] + alike(); }}"
        );
        lab.so(&format!("lib{name}.so"), &source, &[]);
    }
    let main = "extern int data[2]; int call_a(void), call_b(void), twice(void); \
                int main(void) { return data[0] + call_a() + call_b() + twice(); }";
    let flags = ["-fno-pie", "-no-pie", "-L.", "-la", "-lb", "-Wl,-rpath,$ORIGIN"];
    let program = lab.exe("prog", main, &flags);
    let audit = queried(&plan(vec![program], &lab.root()));
    let root = audit.closures.roots.ids().next().expect("an entry point");
    let file = |module| {
        let path = by_path(&audit, root, module);
        path.rsplit('/').next().unwrap_or_default().to_owned()
    };
    let mut said = BTreeSet::new();
    for duplicate in audit.duplicate_definitions(root) {
        let name = String::from_utf8_lossy(&duplicate.name);
        for definition in &duplicate.definitions {
            let kind = if definition.is_address { "has the address of" } else { "defines" };
            said.insert(format!("{} {kind} {name}", file(definition.module)));
            if let Some(source) = definition.source {
                said.insert(format!(
                    "{} takes {name} of {}",
                    file(definition.module),
                    file(source)
                ));
            }
        }
        for referrer in &duplicate.referrers {
            said.insert(format!(
                "{name}: {} gets {}",
                file(referrer.module),
                file(referrer.winner)
            ));
        }
    }
    let lines = [
        "prog defines data",
        "prog takes data of liba.so",
        "liba.so defines data",
        "libb.so defines data",
        "data: liba.so gets prog",
        "data: libb.so gets prog",
        "liba.so defines twice",
        "libb.so defines twice",
        "twice: liba.so gets liba.so",
        "twice: libb.so gets liba.so",
    ];
    assert_eq!(said, lines.map(str::to_owned).into(), "names that two libraries define");
    let bound: BTreeSet<(String, String)> = audit
        .bound_libraries(root)
        .iter()
        .map(|b| (file(b.module), file(b.provider)))
        .filter(|(module, provider)| module != "libc.so.6" && provider != "libc.so.6")
        .collect();
    let pairs = [
        ("liba.so", "prog"),
        ("libb.so", "liba.so"),
        ("libb.so", "prog"),
        ("prog", "liba.so"),
        ("prog", "libb.so"),
    ];
    let pairs = pairs.map(|(module, provider)| (module.to_owned(), provider.to_owned()));
    assert_eq!(bound, BTreeSet::from(pairs), "bound libraries");
}
