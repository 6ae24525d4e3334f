//! A run that compares members only with each other stores no name that is defined but never
//! referred to. The same archives, read with all names, show which definitions must have a name,
//! and that only its text decides.

use super::real::{OTHERS, STEP, archives};
use crate::support::skip;
use linkaudit::format::archive::{External, Members, NAMELESS, Options, Scratch, members};
use linkaudit::symbol_names::{Growing, SymbolNames};
use linkaudit::tree::{DiskTree, Handle, MemTree, Opened, Tree};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn open(tree: &dyn Tree, path: &Path) -> Handle {
    match tree.open(path) {
        Ok(Opened::File(file)) => file,
        _ => panic!("{}", path.display()),
    }
}

fn read(path: &Path, names: &Growing) -> Members {
    let options = Options { index: false, open: &|_| External::Missing, names };
    let file = open(&DiskTree::new(), path);
    members(&file, &options, &mut Scratch::default()).expect("it can be read")
}

fn referring() -> Growing {
    SymbolNames::default().open(0, false)
}

#[test]
fn definitions_that_somebody_refers_to_have_names() {
    let mut paths: Vec<PathBuf> = OTHERS.iter().map(PathBuf::from).collect();
    paths.retain(|path| path.is_file());
    let llvm = archives();
    if llvm.is_empty() {
        skip("definitions_that_somebody_refers_to_have_names", "llvm-19-dev is not installed");
    }
    paths.extend(llvm.into_iter().step_by(STEP));
    let (some, all) = (referring(), Growing::default());
    let read_both = |path: &PathBuf| (read(path, &some), read(path, &all));
    let mut read: Vec<(Members, Members)> = paths.iter().map(read_both).collect();
    let (some, all) = (some.close(), all.close());
    let mut again = 0;
    for (path, (found, _)) in paths.iter().zip(&mut read) {
        let nameless = found.nameless(&some);
        again += nameless.len();
        found.name_all(&open(&DiskTree::new(), path), &nameless, &some).expect("it can be read");
    }
    let every = || read.iter().flat_map(|(_, whole)| whole.list.iter().map(move |m| (whole, m)));
    let symbols = every().flat_map(|(whole, member)| whole.symbols(member));
    let references = symbols.filter(|symbol| !symbol.kind.is_definition());
    let referred: BTreeSet<&[u8]> = references.map(|symbol| all.text(symbol.name)).collect();
    let (mut compared, mut nameless, mut wrong) = (0, 0, Vec::new());
    for (found, whole) in &read {
        assert_eq!(found.list.len(), whole.list.len());
        for (one, other) in found.list.iter().zip(&whole.list) {
            let (ours, theirs) = (found.symbols(one), whole.symbols(other));
            assert_eq!(ours.len(), theirs.len());
            for (ours, theirs) in ours.iter().zip(theirs) {
                let name = all.text(theirs.name);
                let known = referred.contains(name) || !theirs.kind.is_definition();
                let same = if known { some.text(ours.name) == name } else { ours.name == NAMELESS };
                compared += 1;
                nameless += usize::from(!known);
                if !same || ours.kind != theirs.kind {
                    wrong.push(String::from_utf8_lossy(name).into_owned());
                }
            }
        }
    }
    println!(
        "names: {compared} symbols, {nameless} without a name, {again} looked at again, {} differences",
        wrong.len()
    );
    assert!(again > 0 && nameless > 0 && nameless < compared, "nothing was compared");
    assert!(wrong.is_empty(), "{}", wrong[..wrong.len().min(20)].join("\n"));
}

/// Two names with one hash cannot be made: instead the archive is changed between the two reads.
#[test]
fn a_name_is_taken_by_its_text_alone() {
    let Some(path) = OTHERS.iter().map(PathBuf::from).find(|path| path.is_file()) else {
        return skip("a_name_is_taken_by_its_text_alone", "libc6-dev is not installed");
    };
    let names = referring();
    let mut found = read(&path, &names);
    let names = names.close();
    let nameless = found.nameless(&names);
    let bytes = std::fs::read(&path).expect("it can be read");
    let other: Vec<u8> =
        bytes.iter().map(|byte| if *byte == b'_' { b'-' } else { *byte }).collect();
    let mut tree = MemTree::new();
    tree.file("/x.a", other);
    let count = |found: &Members, all: bool| {
        let symbols = found.list.iter().flat_map(|member| found.symbols(member));
        let named = symbols.filter(|symbol| symbol.kind.is_definition() && symbol.name != NAMELESS);
        named.filter(|symbol| all || names.text(symbol.name).contains(&b'_')).count()
    };
    let (before, with) = (count(&found, true), count(&found, false));
    found.name_all(&open(&tree, Path::new("/x.a")), &nameless, &names).expect("it can be read");
    let (after, taken) = (count(&found, true), count(&found, false) - with);
    println!(
        "changed names: {} looked at, {} kept, {taken} mistaken",
        nameless.len(),
        after - before
    );
    assert!(nameless.len() > after - before && after > before);
    assert_eq!(taken, 0, "a name was taken for another");
}
