//! Seeded lists of every kind that is read, with names inserted. CMake prints the values before
//! and after. No line of the text is lost, and at most one line changes. Broken lists end in an
//! error with its line.

use super::deps_list_shapes::{added, diff, value};
use crate::support;
use crate::support::random::{Random, seeds};
use linkaudit::format::deps_list::{DepsList, LinkOrder, SetChange, SetCommand};
use std::collections::BTreeSet;
use support::Lab;

/// Lists of `.ci/run`, unless `LINKAUDIT_LISTS` is more.
const LISTS: u64 = 50;

/// Names with a few common prefixes, so that some are related.
fn names(random: &mut Random, count: usize) -> Vec<String> {
    let mut out: BTreeSet<String> = BTreeSet::new();
    while out.len() < count {
        let head = *random.pick(&["LLVM", "MLIR", "clang", "lld", "hip", "Polly"]);
        let tail = *random.pick(&["Core", "IR", "Pass", "Parser", "Support", "Analysis", "Target"]);
        out.insert(format!("{head}{}{tail}", *random.pick(&["", "X86", "GPU", "Func"])));
    }
    out.into_iter().collect()
}

/// One list: its text, its name, its names, and how they are written.
struct Listed {
    text: String,
    names: Vec<String>,
    is_sorted: bool,
    word: fn(&str) -> String,
    /// True if a line may have more than one value.
    is_dense: bool,
}

fn random_list(random: &mut Random) -> Listed {
    let count = random.between(2, 12);
    let mut names = names(random, count);
    let is_sorted = random.chance(50);
    if !is_sorted {
        for at in (1..names.len()).rev() {
            names.swap(at, random.below(at + 1));
        }
    }
    let word: fn(&str) -> String = *random.pick(&[
        (|name| name.to_owned()) as fn(&str) -> String,
        |name| name.to_owned(),
        |name| format!("lib{name}.a"),
        |name| format!("-l{name}"),
        |name| format!("/opt/x/lib/lib{name}.a"),
        |name| format!("NS::{name}"),
    ]);
    let is_sorted = is_sorted || names.is_sorted();
    let shape = random.below(5);
    let eol = if random.chance(25) { "\r\n" } else { "\n" };
    let indent = *random.pick(&["", "  ", "    ", "\t"]);
    let mut values = String::new();
    for (at, name) in names.iter().enumerate() {
        match shape {
            0..=2 => values += &format!("{eol}{indent}"),
            3 => values += " ",
            _ => values += if at % 3 == 2 { eol } else { " " },
        }
        if shape < 3 && random.chance(10) {
            values += &format!("# {name} (old{eol}{indent}");
        }
        values += &word(name);
        if shape < 3 && random.chance(10) {
            values += "   # keep \"this";
        }
    }
    if shape < 3 {
        values += eol;
    }
    if shape == 3 && random.chance(40) {
        let joined: Vec<String> = names.iter().map(|name| word(name)).collect();
        let (open, close) = *random.pick(&[("\"", "\""), ("[[", "]]"), ("", "")]);
        values = format!(" {open}{}{close}", joined.join(";"));
    }
    let command = match random.below(5) {
        0 => format!("list(APPEND X{values})"),
        1 => format!("target_link_libraries(X PRIVATE{values})"),
        2 => format!("set(X{values} CACHE STRING \"of; {}\")", word(&names[0])),
        _ => format!("set(X{values})"),
    };
    let around = ["if(TRUE)", "# set(X a)", "set(MLIR_FOUND OFF)", "message(STATUS [=[set(X]=])"];
    let head = *random.pick(&around);
    let tail = if head == "if(TRUE)" { "endif()" } else { "" };
    let text = format!("{head}{eol}{command} # )end{eol}{tail}{eol}");
    Listed { text, names, is_sorted, word, is_dense: shape > 2 }
}

#[test]
fn random_lists_keep_all_they_have() {
    if !support::has("cmake") {
        return support::skip("random_lists_keep_all_they_have", "needs cmake");
    }
    let (lab, lists) = (Lab::new(), seeds("LINKAUDIT_LISTS", LISTS));
    let mut count = 0;
    for seed in lists.clone() {
        let random = &mut Random::new(seed);
        let listed = random_list(random);
        let new: Vec<String> = names(random, 5)
            .into_iter()
            .filter(|name| !listed.names.contains(name))
            .take(random.between(1, 3))
            .collect();
        let mut list = DepsList::parse(listed.text.clone().into_bytes()).expect("a list");
        let known = listed.names.iter().chain(&new).map(String::as_bytes).collect();
        list.identify(&known);
        let sets = list.sets().iter().enumerate();
        let at = sets.max_by_key(|(_, set)| set.known()).expect("a set").0;
        assert_eq!(list.sets()[at].known(), listed.names.len(), "{seed}: {}", listed.text);
        let add = new.iter().map(|name| name.clone().into_bytes()).collect();
        let text = list.regenerated(&[(at, SetChange { add, ..SetChange::default() })]);
        let text = String::from_utf8(text).expect("text");
        lab.write("old.cmake", &listed.text);
        lab.write("new.cmake", &text);
        let (old, now) = (value(&lab, "old.cmake", "X"), value(&lab, "new.cmake", "X"));
        let words: BTreeSet<String> = new.iter().map(|name| (listed.word)(name)).collect();
        let found = added(&old, &now).unwrap_or_else(|| panic!("{seed}: {text}"));
        let found: BTreeSet<String> = found.into_iter().map(str::to_owned).collect();
        assert_eq!(found, words, "{seed}: {}\n{text}", listed.text);
        let sorted: Vec<&String> = now.iter().filter(|word| *word != "PRIVATE").collect();
        assert!(!listed.is_sorted || sorted.is_sorted(), "{seed}: {text}");
        let lines = diff(&listed.text, &text);
        let dense = lines.starts_with('~') && lines.len() == 2 && listed.is_dense;
        let is_least = if new.is_empty() {
            lines.is_empty()
        } else {
            dense || lines == format!("+{}", new.len())
        };
        assert!(is_least, "{seed}: {lines}\n{}\n{text}", listed.text);
        count += found.len();
    }
    let lists = lists.count();
    println!("random lists: {lists} lists, {count} names inserted, 0 differences to cmake");
}

/// A list, the added names, the references between archives, and the expected list.
type Case =
    (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)], &'static str);

/// The position of a new name in a set that is not sorted, and in a set that is the order of a
/// link.
#[test]
fn kin_and_links_decide_in_sets_without_order() {
    let new = |text: &str, add: &[&str], refers: &[(&str, &str)]| {
        let list = DepsList::parse(text.as_bytes().to_vec()).expect("a list");
        let mut order = LinkOrder::default();
        for (from, to) in refers {
            let referrers = order.referrers.entry(to.as_bytes().to_vec()).or_default();
            referrers.insert(from.as_bytes().to_vec());
        }
        let add = add.iter().map(|name| name.as_bytes().to_vec()).collect();
        let change = SetChange { add, order, ..SetChange::default() };
        String::from_utf8(list.regenerated(&[(0, change)])).expect("text")
    };
    let cases: &[Case] = &[
        ("set(x zeta LLVMCore MLIRIR)", &["LLVMX86"], &[], "set(x zeta LLVMCore LLVMX86 MLIRIR)"),
        ("set(x zeta LLVMX86 MLIRIR)", &["LLVMCore"], &[], "set(x zeta LLVMCore LLVMX86 MLIRIR)"),
        ("set(x z y a)", &["q"], &[], "set(x z y a q)"),
        ("set(x d c b a)", &["q"], &[("d", "q"), ("q", "a")], "set(x d q c b a)"),
        ("set(x d c b a)", &["bb"], &[("d", "bb"), ("bb", "a")], "set(x d c b bb a)"),
        // Through a new name, and in a circle.
        ("set(x d c a)", &["p", "q"], &[("c", "p"), ("p", "q"), ("q", "a")], "set(x d c p q a)"),
        ("set(x d c a)", &["q", "p"], &[("c", "q"), ("q", "p"), ("p", "a")], "set(x d c q p a)"),
        ("set(x d c a)", &["p", "q"], &[("p", "q"), ("q", "p"), ("a", "p")], "set(x d c a p q)"),
        // Few names are sorted by chance.
        ("set(x a b)", &["c"], &[("a", "c"), ("c", "b")], "set(x a c b)"),
        // Many are not.
        ("set(x a b d e)", &["c"], &[("e", "c")], "set(x a b c d e)"),
    ];
    for (text, add, refers, expected) in cases {
        assert_eq!(new(text, add, refers), *expected, "{text} {add:?}");
    }
}

#[test]
fn broken_lists_are_refused_with_their_line() {
    let cases = [
        ("set(x a)\nset(y \"a\n", 2, "a string has no end"),
        ("\nset(x \"a\\\"\n)\n", 2, "a string has no end"),
        ("set(x\n[==[a]=])\n", 2, "a bracket has no end"),
        ("\n\n#[[ a", 3, "a bracket comment has no end"),
        ("\nset(x (a)\n", 2, "a command has no closing parenthesis"),
        ("set(x a))\n", 1, "no CMake command begins here"),
        ("if(A)\nif(B)\nset(x a)\nendif()\n", 1, "an if() has no endif()"),
        ("foreach(a 1)\n", 1, "a foreach() has no endforeach()"),
        ("set(x a)\nendif()\n", 2, "an endif() has no if()"),
        ("if(A)\nforeach(b 1)\nendif()\nendforeach()\n", 3, "an endif() has no if()"),
        ("else()\n", 1, "an else() or elseif() has no if()"),
        ("1set(x a)\n", 1, "no CMake command begins here"),
        ("set(x a\"b\n)", 1, "a string has no end"),
    ];
    for (text, line, reason) in cases {
        let error = DepsList::parse(text.as_bytes().to_vec()).expect_err(text);
        assert_eq!((error.line, error.reason.as_str()), (line, reason), "{text:?}");
    }
}

/// Damaged lists of every shape: reading ends, an insertion keeps every name, and the result is
/// read again.
#[test]
fn damaged_shapes_keep_their_names() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/archives/deps_list_shapes");
    let files: BTreeSet<_> =
        std::fs::read_dir(dir).expect("lists").map(|entry| entry.expect("a file").path()).collect();
    let pieces: [&[u8]; 14] = [
        b"(", b")", b"\"", b"#", b"[[", b"]]", b"\\", b"\n", b";", b"$<", b">", b"${x}", b"\0",
        b"if(",
    ];
    let (mut count, mut read) = (0, 0);
    for (number, path) in files.iter().enumerate() {
        for seed in 0..60 {
            let random = &mut Random::new(1000 * number as u64 + seed);
            let mut text = std::fs::read(path).expect("a list");
            for _ in 0..=random.below(3) {
                let at = random.below(text.len() + 1);
                match random.below(3) {
                    0 => drop(text.splice(at..at, random.pick(&pieces).iter().copied())),
                    1 => drop(text.splice(at..(at + 2).min(text.len()), [])),
                    _ => drop(text.splice(at..at, b" x ".iter().copied())),
                }
            }
            count += 1;
            let Ok(list) = DepsList::parse(text.clone()) else { continue };
            assert_eq!(list.regenerated(&[]), text);
            let can = |set: &linkaudit::format::deps_list::Set| {
                set.trouble.is_none() && set.origin != SetCommand::Text
            };
            // Items of a loop may omit a prefix that a new name does not have.
            let writes = |at: &usize, set: &linkaudit::format::deps_list::Set| {
                set.entries.is_empty() || list.spelled(*at, b"NEW1").is_some()
            };
            let sets = list.sets().iter().enumerate().filter(|(_, set)| can(set));
            for (at, set) in sets.filter(|(at, set)| writes(at, set)) {
                let names = |set: &linkaudit::format::deps_list::Set| -> BTreeSet<Vec<u8>> {
                    set.names().map(<[u8]>::to_vec).collect()
                };
                let add = [b"NEW1".to_vec(), b"a0".to_vec()];
                let change = SetChange { add: add.clone().into(), ..SetChange::default() };
                let new = list.regenerated(&[(at, change)]);
                let shown = String::from_utf8_lossy(&new);
                let again = DepsList::parse(new.clone())
                    .unwrap_or_else(|error| panic!("{}: {error:?}\n{shown}", path.display()));
                let mut expected = names(set);
                expected.extend(add);
                assert_eq!(names(&again.sets()[at]), expected, "{} {shown}", path.display());
                assert_eq!(again.sets().len(), list.sets().len(), "{} {shown}", path.display());
                read += 1;
            }
        }
    }
    println!("damaged lists: {count} files, {read} insertions, 0 names lost");
}
