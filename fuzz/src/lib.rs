//! The functions that fuzz targets call: one per format, and one for the whole pipeline on a tree
//! in memory. `tests/fuzz_seeds.rs` of the main package runs the same functions on seeds.

use linkaudit::audit::{self, audit, collect};
use linkaudit::facts::read::read;
use linkaudit::format::Reading;
use linkaudit::format::archive::{self, External, Options, RequestedNames, Scratch};
use linkaudit::format::cross_check::{compare_archive, compare_elf};
use linkaudit::format::deps_list::{DepsList, SetChange};
use linkaudit::format::elf::{self, hash};
use linkaudit::format::gpu::{self, Depth};
use linkaudit::merged::solve::Solved;
use linkaudit::plan::Plan;
use linkaudit::policy;
use linkaudit::resolve::cache::{Cache, CacheQuery};
use linkaudit::rules::{self, RuleInput};
use linkaudit::symbol_names::Growing;
use linkaudit::tree::{Handle, MemTree, Opened, Tree as _};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

fn handle(bytes: &[u8]) -> Option<Handle> {
    let mut tree = MemTree::new();
    tree.file("/file", bytes.to_vec());
    match tree.open("/file".as_ref()) {
        Ok(Opened::File(handle)) => Some(handle),
        _ => None,
    }
}

/// Runs a second reader, which is another crate, without the fuzzer's panic hook. The comparison
/// catches the reader's panics; the hook would count them as linkaudit's.
fn in_silence(read: impl FnOnce()) {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    read();
    std::panic::set_hook(hook);
}

/// Reads an ELF file with its tables and relocations, and compares it with the second reader.
pub fn elf(bytes: &[u8]) {
    let Some(file) = handle(bytes) else { return };
    let head = &bytes[..bytes.len().min(4096)];
    let Ok(object) = elf::read(&file, head, Reading { tables: true, ..Reading::default() }) else {
        return;
    };
    if let Some(tables) = &object.tables {
        tables.symbols().for_each(drop);
    }
    let _ = elf::relocs::read(&file, &object);
    let _ = elf::interpreter::read(&file);
    if object.is_dynamic() && object.defects.is_empty() {
        in_silence(|| drop(compare_elf(&file, &object)));
    }
}

/// Reads an archive, its members and its index.
pub fn archive(bytes: &[u8]) {
    let Some(file) = handle(bytes) else { return };
    let mut names = RequestedNames::default();
    names.insert(b"f", hash::gnu(b"f"));
    let _ = archive::read(bytes);
    let _ = archive::definitions(&file, &names, &mut Vec::new());
    in_silence(|| drop(compare_archive(&file)));
}

/// Reads a relocatable object, as an input of a link.
pub fn object(bytes: &[u8]) {
    let Some(file) = handle(bytes) else { return };
    let names = Growing::default();
    let options = Options { index: true, open: &|_| External::Missing, names: &names };
    let _ = archive::object(&file, &options, &mut Scratch::default());
    let _ = archive::members(&file, &options, &mut Scratch::default());
}

/// Reads a cache in both byte orders, checks it for defects, and looks up its first entries.
pub fn ld_so_cache(bytes: &[u8]) {
    let asker =
        CacheQuery { flags: &[0x303], active: &["x86-64-v2"], isa_level: 1, legacy: Some(0) };
    for big in [false, true] {
        let Some(cache) = Cache::parse(bytes.into(), big) else { continue };
        let _ = cache.defect();
        for entry in cache.entries().take(16) {
            let _ = cache.lookup(entry.key, &asker);
        }
    }
}

/// Lists device code, and inflates and checks it.
pub fn device(bytes: &[u8]) {
    let Some(file) = handle(bytes) else { return };
    for is_deep in [false, true] {
        let found =
            gpu::read(&file, Depth { notes: is_deep, inflate: is_deep.then_some(u64::MAX) });
        let entries: usize =
            found.map_or(0, |f| f.containers.iter().map(|c| c.entries.len()).sum());
        assert!(entries <= bytes.len(), "{entries} entries in {} bytes", bytes.len());
    }
    if let Ok(Ok(database)) = gpu::database::read(&file) {
        let stated = u64::from(database.page_size) * database.pages;
        assert!(stated < bytes.len() as u64 + 65_536, "{stated} bytes in {}", bytes.len());
    }
}

/// Reads specs of GCC.
pub fn specs(bytes: &[u8]) {
    for is_main in [false, true] {
        let found = linkaudit::format::gcc_specs::parse(bytes, is_main);
        let words: usize = found.specs.iter().map(|spec| spec.words.len()).sum();
        assert!(words <= bytes.len(), "{words} words in {} bytes", bytes.len());
    }
}

/// Reads a linker script.
pub fn script(bytes: &[u8]) {
    let _ = linkaudit::format::script::inputs(bytes);
}

/// Reads a list of archives. Without additions it must stay as it is; an added name must be in it.
pub fn deps_list(bytes: &[u8]) {
    let Ok(list) = DepsList::parse(bytes.to_vec()) else { return };
    assert_eq!(list.regenerated(&[]), bytes);
    if list.sets().first().is_some_and(|set| set.trouble.is_none()) {
        let name = b"zz-added".to_vec();
        let change = SetChange { add: [name.clone()].into(), ..SetChange::default() };
        let again = DepsList::parse(list.regenerated(&[(0, change)])).expect("a list as before");
        assert!(again.names().any(|listed| listed == name));
    }
}

/// Audits a tree whose files are parts of `bytes`.
pub fn pipeline(bytes: &[u8]) {
    const NAMES: [&str; 4] =
        ["/p/lib.so", "/lib64/ld-linux-x86-64.so.2", "/p/libb.so", "/etc/ld.so.cache"];
    let mut tree = MemTree::new();
    // The first bytes hold the size of each file.
    let (sizes, mut rest) = bytes.split_at(bytes.len().min(2 * NAMES.len()));
    for (i, name) in NAMES.iter().enumerate() {
        let size = sizes
            .get(2 * i..2 * i + 2)
            .map_or(0, |b| usize::from(u16::from_le_bytes([b[0], b[1]])));
        let (file, behind) = rest.split_at(size.min(rest.len()));
        tree.file(name, file.to_vec());
        rest = behind;
    }
    let paths = vec![PathBuf::from(NAMES[0]), PathBuf::from(NAMES[2])];
    let plan = Plan { facts: true, ..Plan::new(paths, "/".into()) };
    let ground = collect(&plan, &tree, audit::read(&plan, &tree, &AtomicUsize::new(0)));
    let mut found = audit(&plan, &tree, ground);
    let (explained, solved) = (found.explain(&plan), Solved::default());
    let given = RuleInput { explained: &explained, solved: &solved };
    let findings = rules::check(&found, &plan, given);
    let caught =
        |finding: &linkaudit::finding::Finding| finding.message.contains("a fault of linkaudit");
    assert!(!findings.iter().any(|finding| caught(finding)), "a panic was caught");
    let _ = read(&handle(rest).expect("a file in memory"), plan.reading());
}

/// Policies by name.
struct Policies(BTreeMap<&'static str, Vec<u8>>);

impl policy::PolicyFiles for Policies {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let bytes = path.to_str().and_then(|path| self.0.get(path));
        bytes.cloned().ok_or(io::ErrorKind::NotFound.into())
    }

    fn real(&self, path: &Path) -> PathBuf {
        Path::new("/").join(path)
    }
}

/// Reads a policy and those that it extends, cut at NUL bytes, and the same bytes as a policy of
/// auditwheel. The text that `show` writes of a valid policy must be valid too.
pub fn policies(bytes: &[u8]) {
    let names = ["p.toml", "b.toml", "c.toml"];
    let files = names.into_iter().zip(bytes.split(|b| *b == 0)).chain([("w.json", bytes)]);
    let mut files = Policies(files.map(|(name, bytes)| (name, bytes.to_vec())).collect());
    for name in ["p.toml", "w.json", "w.json#small_1_x86_64"] {
        match policy::load([OsStr::new(name)], &files, rules::catalogue()) {
            Ok(policy) => {
                let shown = policy.show();
                files.0.insert("shown.toml", shown.clone().into_bytes());
                let again = policy::load([OsStr::new("shown.toml")], &files, rules::catalogue());
                let again = again.map_err(|mistakes| mistakes.render(false));
                assert_eq!(
                    again.map(|policy| policy.show().lines().count()),
                    Ok(shown.lines().count())
                );
                files.0.remove("shown.toml");
            }
            Err(mistakes) => assert!(!mistakes.render(true).is_empty()),
        }
    }
}
