//! What reading costs, in system calls: a file that is given is looked at, opened and read in as few
//! calls as tell the truth about it. Times are the machine's; these are not.

use std::collections::BTreeMap;

use crate::strace;
use crate::support::Lab;

const FILES: usize = 20;

#[test]
fn a_given_file_is_read_in_two_calls() {
    let lab = Lab::new();
    let name = |i: usize| format!("libgiven{i}.so");
    let mut list = String::new();
    for i in 0..FILES {
        lab.so(&name(i), "int f(void) { return 0; }", &["-nostdlib"]);
        list += &format!("{}\n", name(i));
    }
    lab.write("list", list);
    let set = "open,openat,openat2,read,pread64,fstat,newfstatat,statx,readlink,readlinkat";
    let args = ["--format", "json", "--files-from", "list"];
    let (output, calls) = strace::linkaudit(&lab.root(), &args, set);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    // What it is, without links; once open what it is and, at the end, whether it still is that; the
    // head with all tables, and the dynamic section at the end of the file.
    let expected: BTreeMap<&str, usize> =
        [("newfstatat", 1), ("openat", 1), ("fstat", 2), ("pread64", 2)].into();
    for i in 0..FILES {
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        for call in calls.iter().filter(|call| call.contains(&name(i))) {
            *found.entry(strace::name(call)).or_default() += 1;
        }
        assert_eq!(found, expected, "{}", name(i));
    }
    println!("calls: {FILES} files, {expected:?} each");
}
