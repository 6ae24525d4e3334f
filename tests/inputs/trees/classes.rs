//! The files that a walk passes to its reader, and errors of the reader.

use linkaudit::sniff::{Class, Classes};
use linkaudit::tree::MemTree;
use linkaudit::tree::walk::{Visit, WalkTotals, WalkedFile, walk};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

fn tree() -> MemTree {
    let mut tree = MemTree::new();
    tree.file("/p/lib.so", *b"\x7fELF\x02")
        .file("/p/lib.a", *b"!<arch>\n")
        .file("/p/a.cmake", *b"set(a b)")
        .file("/p/odd.cmake", *b"\x7fELF\x01")
        .file("/p/tool", *b"#!/bin/sh\n")
        .file("/p/README", *b"text");
    tree
}

/// The files that the reader got, with sizes; the counts; the names of text files.
type Seen = (Vec<(Class, u64)>, WalkTotals, Vec<(Class, String)>);

fn read(classes: Classes, given: &[&str]) -> Seen {
    let met = Mutex::new(Vec::new());
    let consume = |candidate: WalkedFile<'_>| {
        let len = candidate.handle.stat().len;
        met.lock().expect("no panic").push((candidate.class, len));
    };
    let visit = Visit { classes, consume: &consume, is_named: &|_| false, keeps_met: false };
    let given: Vec<PathBuf> = given.iter().map(PathBuf::from).collect();
    let walked = walk(&tree(), &given, 2, &AtomicUsize::new(0), &visit);
    let mut met = met.into_inner().expect("no panic");
    met.sort_unstable_by_key(|(class, len)| (format!("{class:?}"), *len));
    assert_eq!(met.len(), walked.entries.len());
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    let texts = walked.texts.iter().map(|text| (text.class, name(&text.path))).collect();
    (met, walked.totals, texts)
}

#[test]
fn a_class_is_read_where_it_is_enabled_and_counts_stay() {
    let linkage = vec![(Class::Archive, 8), (Class::Elf, 5), (Class::Elf, 5)];
    let all = ["/p/lib.so", "/p/lib.a", "/p/a.cmake", "/p/odd.cmake", "/p/tool", "/p/README"];
    for given in [&["/p"][..], &all] {
        let (met, totals, texts) = read(Classes::default(), given);
        assert_eq!(texts, []);
        assert_eq!(met, linkage);
        assert_eq!((totals.elf, totals.archives, totals.other), (2, 1, 3));
        let more = Classes::LINKAGE.with(Class::CMake).with(Class::Script);
        let (met, with_more, texts) = read(more, given);
        // Text files are listed, and not read during the walk.
        assert_eq!(met, linkage);
        assert_eq!(
            texts,
            [(Class::CMake, "a.cmake".to_owned()), (Class::Script, "tool".to_owned())]
        );
        assert_eq!(with_more, totals);
    }
}

#[test]
fn a_reader_that_panics_ends_the_walk_with_its_panic() {
    let mut tree = MemTree::new();
    for number in 0..5000 {
        tree.file(format!("/p/{number}"), *b"\x7fELF");
    }
    for threads in 1..=3 {
        let consume = |candidate: WalkedFile<'_>| {
            assert!(candidate.handle.stat().ino % 100 != 7, "a fault in a reader");
        };
        let visit = Visit {
            classes: Classes::default(),
            consume: &consume,
            is_named: &|path: &Path| path.ends_with("1"),
            keeps_met: false,
        };
        let given = [PathBuf::from("/p")];
        let walked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            walk(&tree, &given, threads, &AtomicUsize::new(0), &visit)
        }));
        assert!(walked.is_err(), "{threads} threads: a shorter list instead of a fault");
    }
}
