//! The cost of reading in system calls: a given file is opened and read with the fewest calls that
//! give correct facts. Unlike times, the number of calls does not depend on the machine.

use std::collections::BTreeMap;

use super::strace;
use crate::support::Lab;

const FILES: usize = 20;

fn name(i: usize) -> String {
    format!("libgiven{i}.so")
}

/// Number of calls of each kind for each of a few given libraries.
fn calls(options: &[&str]) -> Vec<BTreeMap<String, usize>> {
    let lab = Lab::new();
    let mut list = String::new();
    for i in 0..FILES {
        lab.so(&name(i), "int f(void) { return 0; }", &["-nostdlib"]);
        list += &format!("{}\n", name(i));
    }
    lab.write("list", list);
    let set = "open,openat,openat2,read,pread64,fstat,newfstatat,statx,readlink,readlinkat";
    let args = [&["--format", "json", "--files-from", "list"], options].concat();
    let (output, calls) = strace::linkaudit(&lab.root(), &args, set);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let of = |i: usize| {
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for call in calls.iter().filter(|call| call.contains(&name(i))) {
            *found.entry(strace::name(call).to_owned()).or_default() += 1;
        }
        found
    };
    (0..FILES).map(of).collect()
}

#[test]
fn a_given_file_is_read_in_two_calls() {
    // One stat without following links, one after the open, and one at the end, to see if the file
    // has changed. One read for the head with all tables, and one for the dynamic section at the
    // end of the file.
    let expected = [("newfstatat", 1), ("openat", 1), ("fstat", 2), ("pread64", 2)];
    let expected: BTreeMap<String, usize> = expected.map(|(name, n)| (name.to_owned(), n)).into();
    for (i, found) in calls(&[]).into_iter().enumerate() {
        assert_eq!(found, expected, "{}", name(i));
    }
    println!("calls: {FILES} files, {expected:?} each");
}

/// The answers of loaders beside a report: other entry points, the same files.
#[test]
fn two_kinds_of_outputs_read_a_file_once() {
    for (i, found) in calls(&["-o", "ldd=answers"]).into_iter().enumerate() {
        let read = ["openat", "pread64"].map(|call| found.get(call).copied().unwrap_or(0));
        assert_eq!(read, [1, 2], "{}: {found:?}", name(i));
    }
}
