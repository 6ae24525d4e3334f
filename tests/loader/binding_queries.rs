//! The binding queries of this machine's programs and libraries, held against all bindings that the
//! audit finds (`tests/loader/bindings.rs` holds those against the loader), and for fifty programs against the
//! loader itself.
//!
//! `cargo test` compares a sample; `LINKAUDIT_SWEEP=all` compares every file of /usr/bin and /usr/lib.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use crate::support::ld_debug;
use crate::support::queries;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use linkaudit::audit::Audit;
use linkaudit::id::{ModuleId, RootId};
use linkaudit::plan::Plan;
use queries::{Compared, compare, plan, queried};

/// Files of a sample.
const SAMPLE: usize = 100;
/// Files that are audited together: all bindings of many roots take much memory.
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
    let all = std::env::var_os("LINKAUDIT_SWEEP").is_some_and(|value| value == "all");
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

/// The symbols that a file defines, read by another reader: name, version, and whether the version is
/// the default; versions 0 and 1 are none.
type Exports = BTreeMap<String, Vec<(u16, Option<String>, bool)>>;

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
        let default = versym & 0x8000 == 0;
        out.entry(name.to_owned()).or_default().push((versym & 0x7fff, version, default));
    }
    out
}

/// True if one of these definitions answers a reference to `version` (`check_match`).
fn answers(definitions: &[(u16, Option<String>, bool)], version: Option<&str>) -> bool {
    let visible = || definitions.iter().filter(|(.., default)| *default);
    match version {
        None => definitions.iter().any(|(index, ..)| *index < 3) || visible().count() == 1,
        Some(wanted) => definitions.iter().any(|(_, version, default)| match version {
            Some(version) => version == wanted,
            None => *default,
        }),
    }
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
        let is_duplicate = |(_, name, version, _): &&ld_debug::Binding| {
            let defines = |path: &&String| {
                let found = known[*path].get(name);
                found.is_some_and(|found| answers(found, version.as_deref()))
            };
            scope.iter().filter(defines).count() > 1
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

/// Two libraries with one name of data and one of a function, and a program that copies the data.
#[test]
fn two_libraries_of_one_name() {
    let lab = support::Lab::new();
    for (name, size) in [("a", 2), ("b", 4)] {
        let source = format!(
            "int data[{size}] = {{1}}; int twice(void) {{ return {size}; }} \
             int call_{name}(void) {{ return twice() + data[1]; }}"
        );
        lab.so(&format!("lib{name}.so"), &source, &[]);
    }
    let main = "extern int data[2]; int call_a(void), call_b(void); \
                int main(void) { return data[0] + call_a() + call_b(); }";
    let flags = ["-fno-pie", "-no-pie", "-L.", "-la", "-lb", "-Wl,-rpath,$ORIGIN"];
    let program = lab.exe("prog", main, &flags);
    let audit = queried(&plan(vec![program], &lab.root()));
    let root = audit.closures.roots.ids().next().expect("an entry point");
    let file = |module| {
        let path = by_path(&audit, root, module);
        path.rsplit('/').next().unwrap_or_default().to_owned()
    };
    let mut said = Vec::new();
    for duplicate in audit.duplicate_definitions(root) {
        let name = String::from_utf8_lossy(&duplicate.name);
        for definition in &duplicate.definitions {
            let (module, kind) = (file(definition.module), definition.kind);
            said.push(format!("{name}: {module} defines {} bytes: {kind:?}", definition.size));
        }
        for referrer in &duplicate.referrers {
            said.push(format!("{name}: {} gets {}", file(referrer.module), file(referrer.winner)));
        }
    }
    let lines = [
        "data: prog defines 8 bytes: Copy",
        "data: liba.so defines 8 bytes: Own",
        "data: libb.so defines 16 bytes: Own",
        "data: prog gets liba.so",
        "data: liba.so gets prog",
        "data: libb.so gets prog",
        "twice: liba.so gets liba.so",
        "twice: libb.so gets liba.so",
    ];
    for line in lines {
        assert!(said.iter().any(|said| said == line), "{line}: {said:#?}");
    }
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
