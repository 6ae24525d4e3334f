//! The archives of LLVM, MLIR, lld and Polly as Debian ships them: the symbols of members as `nm`
//! lists them, and the members that lld extracts from all of them at once.

use super::kit::{archive, extracted, members as needed};
use crate::support::{Lab, clean, has, skip};
use linkaudit::format::archive::{External, Options, Scratch, SymbolKind, members};
use linkaudit::symbol_names::Growing;
use linkaudit::tree::{DiskTree, Opened, Tree as _};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const LLVM: &str = "/usr/lib/llvm-19/lib";
/// Archives of the C and C++ libraries, which have what LLVM's archives lack: common and unique
/// symbols, members without symbols, assembler.
pub(crate) const OTHERS: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/libc.a",
    "/usr/lib/x86_64-linux-gnu/libm-2.36.a",
    "/usr/lib/gcc/x86_64-linux-gnu/12/libstdc++.a",
];
/// Every `STEP`th archive is read with `nm`, which takes a second for all.
pub(crate) const STEP: usize = 8;
const ROOTS: [&str; 3] =
    ["LLVMInitializeX86Target", "LLVMInitializeAMDGPUAsmParser", "mlirContextCreate"];

pub(crate) fn archives() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(LLVM) else { return Vec::new() };
    let mut all: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "a"))
        .filter(|path| path.symlink_metadata().is_ok_and(|data| data.is_file()))
        .collect();
    all.sort();
    all
}

/// Number of symbols by member, name and class.
type Table = BTreeMap<(String, String, char), usize>;

/// `nm`'s letters: `U` and `w` for references, `W`, `C` and `u` for definitions that are not
/// strong, `T` for all others.
fn nm(path: &Path) -> Table {
    let output = clean("nm").arg("-gA").arg(path).output().expect("nm runs");
    let mut out = Table::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let rest = line.strip_prefix(&format!("{}:", path.display())).expect("the archive");
        let (member, rest) = rest.split_once(':').expect("the member");
        let words: Vec<&str> = rest.split_whitespace().collect();
        let (class, name) = (words[words.len() - 2], words[words.len() - 1]);
        let class = match class {
            "U" => 'U',
            "w" | "v" if words.len() == 2 => 'w',
            "W" | "V" | "w" | "v" => 'W',
            "C" => 'C',
            "u" => 'u',
            // An indirect function, weak or not.
            "i" => 'i',
            _ => 'T',
        };
        let name = name.split("@@").next().unwrap_or(name);
        *out.entry((member.to_owned(), name.to_owned(), class)).or_default() += 1;
    }
    out
}

fn ours(path: &Path) -> Table {
    let Ok(Opened::File(file)) = DiskTree::new().open(path) else { panic!("{}", path.display()) };
    let names = Growing::default();
    let options = Options { index: true, open: &|_| External::Missing, names: &names };
    let found = members(&file, &options, &mut Scratch::default()).expect("it can be read");
    let names = names.close();
    assert!(found.damage.is_empty(), "{}: {:?}", path.display(), found.damage);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut out = Table::new();
    for member in &found.list {
        for symbol in found.symbols(member) {
            let class = match symbol.kind {
                SymbolKind::Undefined => 'U',
                SymbolKind::WeakUndefined => 'w',
                SymbolKind::Weak => 'W',
                SymbolKind::Common | SymbolKind::MachineCommon => 'C',
                SymbolKind::Unique => 'u',
                SymbolKind::Strong => 'T',
            };
            let key = (text(found.name(member)), text(names.text(symbol.name)), class);
            *out.entry(key).or_default() += 1;
        }
    }
    out
}

#[test]
fn symbols_of_members_as_nm_lists_them() {
    let mut paths: Vec<PathBuf> =
        OTHERS.iter().map(PathBuf::from).filter(|path| path.is_file()).collect();
    let llvm = archives();
    if llvm.is_empty() {
        skip("symbols_of_members_as_nm_lists_them", "llvm-19-dev is not installed");
    }
    paths.extend(llvm.into_iter().step_by(STEP));
    let (mut symbols, mut wrong) = (0, Vec::new());
    for path in &paths {
        let theirs = nm(path);
        let indirect = |key: &(String, String, char)| {
            theirs.contains_key(&(key.0.clone(), key.1.clone(), 'i'))
        };
        let ours: Table = ours(path)
            .into_iter()
            .map(|(key, n)| if indirect(&key) { ((key.0, key.1, 'i'), n) } else { (key, n) })
            .collect();
        symbols += theirs.values().sum::<usize>();
        let keys = theirs.keys().chain(ours.keys());
        wrong.extend(keys.filter(|key| theirs.get(key) != ours.get(key)).map(|key| {
            format!(
                "{}: {key:?}: nm {:?}, linkaudit {:?}",
                path.display(),
                theirs.get(key),
                ours.get(key)
            )
        }));
    }
    wrong.sort();
    wrong.dedup();
    println!("nm: {} archives, {symbols} symbols, {} differences", paths.len(), wrong.len());
    assert!(symbols > 0, "nothing was compared");
    assert!(wrong.is_empty(), "{}", wrong[..wrong.len().min(20)].join("\n"));
}

#[test]
fn members_of_all_archives_as_lld_extracts_them() {
    let archives = archives();
    if archives.len() < 2 || !has("ld.lld-19") {
        let why = "llvm-19-dev or lld-19 is not installed";
        return skip("members_of_all_archives_as_lld_extracts_them", why);
    }
    let lab = Lab::new();
    let texts: Vec<&str> = archives.iter().filter_map(|path| path.to_str()).collect();
    let mut total = 0;
    for root in ROOTS {
        let mut lld = clean("ld.lld-19");
        lld.current_dir(lab.root()).args([
            "-shared",
            "-o",
            "/dev/null",
            "--no-demangle",
            "-u",
            root,
        ]);
        lld.args(["--unresolved-symbols=ignore-all", "--why-extract=why.lld"]);
        let output = lld.arg("--print-archive-stats=stats.lld").args(&texts).output();
        assert!(output.expect("lld runs").status.success());
        let (first, rest) = texts.split_at(1);
        let tables = ["--why-extract", "why.us", "--archive-stats", "stats.us"];
        let asked = ["--root-symbol", root];
        let order = [first, &asked[..], &tables[..], &["--order"], rest].concat();
        let (in_order, _) = archive(&lab.root(), &order);
        let read = |name: &str| std::fs::read_to_string(lab.path(name)).expect("a table");
        assert!(read("why.us") == read("why.lld"), "{root}: --why-extract differs");
        assert!(read("stats.us") == read("stats.lld"), "{root}: --print-archive-stats differs");
        let (free, _) = archive(&lab.root(), &[first, &asked[..], &["--from", LLVM]].concat());
        let theirs = extracted(&read("why.lld"));
        assert_eq!(needed(&in_order), theirs, "{root}: --order");
        assert_eq!(needed(&free), theirs, "{root}: without order");
        total += theirs.len();
    }
    let (roots, count) = (ROOTS.len(), archives.len());
    println!("lld 19 over {count} archives: {roots} roots, {total} members, 0 differences");
    assert!(total > 100);
}

/// The ids of names depend on the order of threads: no answer may depend on them.
#[test]
fn ids_of_names_do_not_show() {
    let archives = archives();
    if archives.len() < 2 {
        return skip("ids_of_names_do_not_show", "llvm-19-dev is not installed");
    }
    let lab = Lab::new();
    let first = archives[0].to_str().expect("a path in UTF-8");
    let mut answers = Vec::new();
    for jobs in ["1", "2", "8", "2", "8"] {
        let args = [first, "--root-symbol", ROOTS[0], "--from", LLVM, "--jobs", jobs];
        answers.push(archive(&lab.root(), &args).0);
    }
    println!("ids of names: {} runs at 1, 2 and 8 threads", answers.len());
    assert!(needed(&answers[0]).len() > 100);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
}
