//! A fix is verified only if a linker accepts it. Each case is linked with GNU ld and lld as a
//! shared object and as a position-independent program, and `ldd -r` checks the result of a
//! verified fix.

use super::kit::{archive, text, tool};
use crate::support::{Lab, has, skip};
use serde_json::Value;
use std::ffi::OsStr;

/// Assembles a member.
pub(super) fn member(lab: &Lab, name: &str, source: &str) {
    lab.write(&format!("{name}.s"), source);
    tool(lab, &format!("as -o {name}.o {name}.s"));
}

/// True if every fix of every undefined symbol is verified; and the reasons for doubt.
pub(super) fn verified(lab: &Lab, file: &str) -> (bool, String) {
    let run = lab.linkaudit(&["fix", file, "--lib-path", "parts", "--format", "json"]);
    let report: Value = serde_json::from_slice(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&run.stderr)));
    let findings = report["findings"].as_array().expect("findings").iter();
    let undefined = findings.filter(|finding| finding["rule"] == "undefined-symbol");
    let fixes: Vec<&Value> =
        undefined.flat_map(|finding| finding["fix"].as_array().expect("fixes")).collect();
    let doubts: Vec<String> = fixes
        .iter()
        .filter(|fix| fix["proven"] != true)
        .map(|fix| fix["unknown"].to_string())
        .collect();
    (!fixes.is_empty() && doubts.is_empty(), doubts.join(", "))
}

/// Hidden symbols of a stripped file are unknown, and the fix says so. With `-Bsymbolic`, linkers
/// accept references to own definitions that are not position-independent.
#[test]
fn stripped_and_symbolic_objects() {
    let lab = Lab::new();
    member(&lab, "lib", ".globl f\nf: call g@PLT\nret\n");
    member(&lab, "g", ".globl g\ng: leaq v(%rip), %rax\nret\n.data\n.globl v\nv: .long 0\n");
    archive(&lab, OsStr::new("parts/libg.a"), &["g.o"]);
    let says = "the file is stripped, so duplicates of its hidden symbols are not seen";
    for (option, is_verified) in [("-Bsymbolic", true), ("-Bsymbolic -s", true), ("-s", false)] {
        tool(&lab, &format!("ld.bfd -shared {option} -o lib.so lib.o"));
        assert_eq!(verified(&lab, "lib.so").0, is_verified, "{option}");
        let run = lab.linkaudit(&["fix", "lib.so", "--lib-path", "parts", "-v"]);
        let is_said = text(&run.stdout).replace('\n', " ").contains(says);
        assert_eq!(is_said, is_verified && option.ends_with("-s"), "{}", text(&run.stdout));
        for linker in ["bfd", "lld"] {
            let link = format!("ld.{linker} -shared {option} -z defs -o out.so lib.o parts/libg.a");
            let links = lab.sh(&format!("{link} 2>/dev/null")).status.success();
            assert_eq!(links, is_verified, "{link}");
        }
    }
}

/// Members that define `g`, each with true if a shared object can link it.
const MEMBERS: &[(&str, bool)] = &[
    (".text\n.globl g\ng: ret\n", true),
    (".text\n.globl g\ng: movl $d, %eax\nret\n.data\nd: .long 0\n", false),
    (".text\n.globl g\ng: movq $d, %rax\nret\n.data\nd: .long 0\n", false),
    (".text\n.globl g\ng: movabsq $d, %rax\nret\n.data\nd: .long 0\n", false),
    (".text\n.globl g\ng: leaq d(%rip), %rax\nret\n.data\nd: .long 0\n", true),
    (".text\n.globl g\ng: leaq d(%rip), %rax\nret\n.data\n.globl d\nd: .long 0\n", false),
    (".text\n.globl g\ng: leaq d(%rip), %rax\nret\n.data\n.globl d\n.hidden d\nd: .long 0\n", true),
    (".text\n.globl g\ng: call h@PLT\nret\n.globl h\nh: ret\n", true),
    (
        ".text\n.globl g\ng: movl %fs:t@tpoff, %eax\nret\n.section .tbss,\"awT\",@nobits\nt: .long 0\n",
        false,
    ),
    (
        ".text\n.globl g\ng: movq t@gottpoff(%rip), %rax\nret\n\
         .section .tbss,\"awT\",@nobits\n.globl t\nt: .long 0\n",
        true,
    ),
    (".text\n.globl g\ng: ret\n.data\n.quad g\n", true),
    (".text\n.globl g\ng: ret\n.section .rodata,\"a\"\n.quad g\n", false),
    (".text\n.globl g\ng: ret\n.section .debug_x,\"\"\n.long g\n", true),
    (".text\n.globl g\ng: ret\n.globl own\nown: ret\n", false),
    (".text\n.globl g\ng: ret\n.section .t,\"axG\",@progbits,c,comdat\n.weak c\nc: ret\n", true),
    // Linkers define the bounds of a section that the output has.
    (".text\n.globl g\ng: leaq __start_foo(%rip), %rax\nret\n.section foo,\"aw\"\n.quad 0\n", true),
    (".text\n.globl g\ng: leaq __start_foo(%rip), %rax\nret\n", false),
    (".text\n.globl g\n.weak __start_foo\ng: leaq __start_foo(%rip), %rax\nret\n", false),
    (
        ".text\n.globl g\n.weak __start_foo\n.hidden __start_foo\n\
         g: leaq __start_foo(%rip), %rax\nret\n.section foo,\"aw\"\n.quad 0\n",
        true,
    ),
    (
        ".text\n.globl g\ng: leaq _TLS_MODULE_BASE_@tlsdesc(%rip), %rax\n\
         call *_TLS_MODULE_BASE_@tlscall(%rax)\nret\n.section .tbss,\"awT\",@nobits\n.quad 0\n",
        true,
    ),
    // No version script has the version.
    (".text\n.globl g_\ng_: ret\n.symver g_,g@@V1\n", false),
    (".text\n.globl g, g_\ng: ret\ng_: ret\n.symver g_,g@V0\n", false),
];

#[test]
fn verified_fixes_link() {
    let lab = Lab::new();
    member(&lab, "user", ".text\n.globl own\nown: call g@PLT\nret\n");
    let (mut cases, mut wrong, mut links) = (0, Vec::new(), 0);
    for (at, (source, takes)) in MEMBERS.iter().enumerate() {
        tool(&lab, "rm -rf parts; ld -shared -o libuser.so user.o");
        member(&lab, "g", source);
        archive(&lab, OsStr::new("parts/libg.a"), &["g.o"]);
        let (is_verified, doubts) = verified(&lab, "libuser.so");
        cases += 1;
        // Relocations have the names that readelf prints.
        let relocations = tool(&lab, "readelf -rW g.o");
        let mut named = doubts.split(['(', ' ', ')']).filter(|word| word.starts_with("R_X86_64_"));
        let is_read = named.all(|word| relocations.contains(word));
        assert!(is_read && !doubts.contains("relocation type"), "case {at}: {doubts}");
        let linkers = ["ld -z text", "ld.lld-19"]
            .into_iter()
            .filter(|linker| has(linker.split(' ').next().unwrap_or(linker)));
        let all = linkers.map(|linker| {
            links += 1;
            let script = format!("{linker} -shared -z defs -o new.so user.o parts/libg.a");
            lab.sh(&script).status.success() && lab.undefined("new.so").is_empty()
        });
        let all: Vec<bool> = all.collect();
        // Without `-z text`, GNU ld makes text relocations.
        let link = lab.sh("ld -shared -z defs -o new.so user.o parts/libg.a");
        let may_link = is_verified || doubts.contains("GNU ld and mold make text relocations");
        assert_eq!(link.status.success(), may_link, "case {at}: {doubts}");
        if is_verified != *takes || all.iter().all(|links| *links) != *takes {
            wrong.push(format!("case {at}: verified {is_verified} ({doubts}), links {all:?}"));
        }
    }
    println!("verified fixes: {cases} cases, {links} links, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A member that another member needs can also prevent the fix; two copies of a COMDAT group
/// cannot.
#[test]
fn members_that_are_taken_along_count() {
    let lab = Lab::new();
    member(&lab, "user", ".text\n.globl own\nown: call g@PLT\ncall k@PLT\nret\n");
    tool(&lab, "ld -shared -o libuser.so user.o");
    let group = ".section .t,\"axG\",@progbits,c,comdat\n.globl c\nc: ret\n";
    for (inner, takes) in [
        (".text\n.globl deep\ndeep: ret\n".to_owned(), true),
        (".text\n.globl deep\ndeep: movl $deep, %eax\n".to_owned(), false),
        (".text\n.globl deep\ndeep: ret\n.globl k\nk: ret\n".to_owned(), true),
        (format!(".text\n.globl deep\ndeep: ret\n{group}"), true),
        (".text\n.globl deep, c\ndeep: ret\nc: ret\n".to_owned(), false),
    ] {
        tool(&lab, "rm -rf parts");
        member(&lab, "g", ".text\n.globl g\ng: call deep@PLT\nret\n");
        member(&lab, "k", &format!(".text\n.globl k\nk: ret\n{group}"));
        member(&lab, "deep", &inner);
        for name in ["g", "k", "deep"] {
            archive(&lab, OsStr::new(&format!("parts/lib{name}.a")), &[&format!("{name}.o")]);
        }
        let (is_verified, doubts) = verified(&lab, "libuser.so");
        // In this order `k.o` is not taken where `deep.o` defines `k`.
        let link =
            lab.sh("ld -shared -z defs -o new.so user.o parts/libg.a parts/libdeep.a parts/libk.a");
        let lld = lab.sh(
            "ld.lld-19 -shared -z defs -o new.so user.o parts/libg.a parts/libdeep.a parts/libk.a",
        );
        assert_eq!(
            (is_verified, link.status.success(), lld.status.success()),
            (takes, takes, takes),
            "{inner}: {doubts} {}",
            text(&link.stderr)
        );
    }
}

/// A library that defines the version of a member is linked with a version script that has it.
#[test]
fn versions_that_the_library_defines() {
    let lab = Lab::new();
    member(&lab, "user", ".text\n.globl own\nown: call g@PLT\nret\n");
    lab.write("versions", "V1 { own; };\n");
    tool(&lab, "ld -shared --version-script=versions -o libuser.so user.o");
    for (version, takes) in [("g@@V1", true), ("g@@V2", false)] {
        tool(&lab, "rm -rf parts");
        member(&lab, "g", &format!(".text\n.globl g_\ng_: ret\n.symver g_,{version}\n"));
        archive(&lab, OsStr::new("parts/libg.a"), &["g.o"]);
        let (is_verified, doubts) = verified(&lab, "libuser.so");
        assert_eq!(is_verified, takes, "{doubts}");
        assert!(takes || doubts.contains("version script"), "{doubts}");
        for linker in ["ld", "ld.lld-19"].into_iter().filter(|linker| has(linker)) {
            let options = "-shared -z defs --version-script=versions -o new.so";
            let link = lab.sh(&format!("{linker} {options} user.o parts/libg.a"));
            assert_eq!(link.status.success(), takes, "{linker}: {}", text(&link.stderr));
        }
    }
}

/// A member may refer to a version of a library's symbol.
#[test]
fn versions_of_needed_libraries() {
    let lab = Lab::new();
    member(&lab, "user", ".text\n.globl own\nown: call g@PLT\ncall n@PLT\nret\n");
    member(&lab, "near", ".text\n.globl n, v\nn: ret\nv: ret\n");
    lab.write("versions", "V1 { n; v; };\n");
    let options = "-shared -rpath='$ORIGIN'";
    tool(&lab, &format!("ld {options} --version-script=versions -o libnear.so near.o"));
    tool(&lab, &format!("ld {options} -o libuser.so user.o libnear.so"));
    for (version, takes) in [("V1", true), ("V9", false)] {
        tool(&lab, "rm -rf parts");
        member(&lab, "g", &format!(".text\n.globl g\ng: call x@PLT\nret\n.symver x,v@{version}\n"));
        archive(&lab, OsStr::new("parts/libg.a"), &["g.o"]);
        let (is_verified, doubts) = verified(&lab, "libuser.so");
        assert_eq!(is_verified, takes, "{version}: {doubts}");
        for linker in ["ld", "ld.lld-19", "mold"].into_iter().filter(|linker| has(linker)) {
            let link = "-z defs -o new.so user.o parts/libg.a libnear.so";
            let link = lab.sh(&format!("{linker} {options} {link}"));
            assert_eq!(link.status.success(), takes, "{linker} {version}: {}", text(&link.stderr));
        }
    }
}

/// GNU ld searches an archive only by its index.
#[test]
fn archives_without_an_index() {
    let lab = Lab::new();
    member(&lab, "user", ".text\n.globl own\nown: call g@PLT\nret\n");
    member(&lab, "g", ".text\n.globl g\ng: ret\n");
    lab.mkdir("parts");
    tool(&lab, "ld -shared -o libuser.so user.o; ar rcS parts/libg.a g.o");
    for takes in [false, true] {
        let (is_verified, doubts) = verified(&lab, "libuser.so");
        assert_eq!(is_verified, takes, "{doubts}");
        assert!(takes || doubts.contains("libg.a has no index"), "{doubts}");
        let link = lab.sh("ld -shared -z defs -o new.so user.o parts/libg.a");
        assert_eq!(link.status.success(), takes, "{}", text(&link.stderr));
        tool(&lab, "ranlib parts/libg.a");
    }
}

/// lld and mold read all members of an archive, even those that the link does not need.
#[test]
fn members_that_are_not_needed_must_be_readable() {
    let linkers = ["ld", "ld.lld-19", "mold"];
    if !linkers.iter().all(|linker| has(linker)) {
        return skip("members_that_are_not_needed_must_be_readable", "needs three linkers");
    }
    let lab = Lab::new();
    member(&lab, "user", ".text\n.globl own\nown: call g@PLT\nret\n");
    member(&lab, "g", ".text\n.globl g\ng: ret\n");
    member(&lab, "other", ".text\n.globl other\nother: ret\n");
    tool(&lab, "as --32 -o foreign.o other.s; echo text >text.txt; head -c 200 other.o >cut.o");
    tool(&lab, "ld -shared -o libuser.so user.o");
    for (more, doubt) in [
        ("ar rcs parts/libg.a g.o other.o text.txt", ""),
        ("ar rcs parts/libg.a g.o foreign.o", "is built for another machine"),
        ("ar rcs parts/libg.a g.o cut.o", "cannot be read"),
        ("cp other.o gone.o; ar rcsT parts/libg.a g.o gone.o; rm gone.o", "cannot be read"),
    ] {
        tool(&lab, &format!("rm -rf parts; mkdir parts; {more}"));
        let (is_verified, doubts) = verified(&lab, "libuser.so");
        assert!(is_verified == doubt.is_empty() && doubts.contains(doubt), "{more}: {doubts}");
        let links = linkers.map(|linker| {
            let link = format!("{linker} -shared -z defs -o new.so user.o parts/libg.a");
            lab.sh(&link).status.success()
        });
        assert_eq!(links, [true, is_verified, is_verified], "{more}");
    }
}

/// lld and mold also take members for the references of the libraries that the object needs, mold
/// even for weak ones. GNU ld reads these libraries after the archives. Each case has the code of
/// such a library, and a second member of the fix's archive.
#[test]
fn references_of_needed_libraries_take_members() {
    let linkers = ["ld", "ld.lld-19", "mold"];
    if !linkers.iter().all(|linker| has(linker)) {
        return skip("references_of_needed_libraries_take_members", "needs three linkers");
    }
    let lab = Lab::new();
    member(&lab, "user", ".text\n.globl own\nown: call g@PLT\nret\n");
    member(&lab, "far", ".text\n.globl x\nx: ret\n");
    member(&lab, "g", ".text\n.globl g\ng: ret\n");
    tool(&lab, "ld -shared -o libfar.so far.o");
    let tls = "data16 leaq t@tlsgd(%rip), %rdi\n.value 0x6666\nrex64\ncall __tls_get_addr@PLT\n";
    let tls = format!("{tls}.section .tbss,\"awT\",@nobits\n.globl t\nt: .quad 0\n");
    for (needed, more, takes) in [
        ("", "call nosuch@PLT\n", [true; 3]),
        (".data\n.quad x\n", "ret\n", [true; 3]),
        (".data\n.quad x\n", "call nosuch@PLT\n", [true, false, false]),
        (".data\n.quad x\n", ".globl own\nown: ret\n", [true, false, false]),
        (".data\n.quad x\n", &tls, [true, false, false]),
        (".weak x\n.data\n.quad x\n", "call nosuch@PLT\n", [true, true, false]),
        (".weak x\n.data\n.quad x\n", &tls, [true, true, false]),
    ] {
        tool(&lab, "rm -rf parts");
        member(&lab, "near", &format!(".text\n.globl near\nnear: ret\n{needed}"));
        member(&lab, "x", &format!(".text\n.globl x\nx: {more}"));
        archive(&lab, OsStr::new("parts/libg.a"), &["g.o", "x.o"]);
        let options = "-shared -rpath='$ORIGIN'";
        tool(&lab, &format!("ld {options} -o libnear.so near.o libfar.so"));
        tool(&lab, &format!("ld {options} -o libuser.so user.o libnear.so"));
        let (is_verified, doubts) = verified(&lab, "libuser.so");
        let links: Vec<bool> = linkers
            .iter()
            .map(|linker| {
                let line = "-z defs -rpath-link=. -o new.so user.o parts/libg.a libnear.so";
                lab.sh(&format!("{linker} {options} {line}")).status.success()
            })
            .collect();
        assert_eq!(
            (is_verified, &*links),
            (takes == [true; 3], &takes[..]),
            "{needed}{more}{doubts}"
        );
    }
}

/// Programs too cannot hold the distance to a weak symbol that nothing defines.
#[test]
fn weak_references_of_programs() {
    if !has("ld.lld-19") {
        return skip("weak_references_of_programs", "there is no ld.lld-19");
    }
    let lab = Lab::new();
    member(&lab, "user", ".text\n.globl _start, q\n_start: call g@PLT\nret\nq: ret\n");
    let pie = "-pie -dynamic-linker /lib64/ld-linux-x86-64.so.2";
    tool(&lab, &format!("ld.lld-19 {pie} --unresolved-symbols=ignore-all -o user user.o"));
    for (code, takes) in [
        (".weak none\nleaq none(%rip), %rax\n", false),
        (".weak none\n.hidden none\nleaq none(%rip), %rax\n", false),
        (".weak none\ncall none@PLT\n", true),
        (".weak q\nleaq q(%rip), %rax\n", true),
    ] {
        tool(&lab, "rm -rf parts");
        member(&lab, "g", &format!(".text\n.globl g\ng: {code}"));
        archive(&lab, OsStr::new("parts/libg.a"), &["g.o"]);
        let (is_verified, doubts) = verified(&lab, "user");
        assert_eq!(is_verified, takes, "{code}{doubts}");
        let link = lab.sh(&format!("ld {pie} -z defs -o new user.o parts/libg.a"));
        assert_eq!(link.status.success(), takes, "{code}{}", text(&link.stderr));
    }
}

/// `d.o` needs the distance to `v`, which only another member hides. The fix of `c` fails if the
/// link does not take that member: its own fix fails, or a linker takes a weak definition instead.
#[test]
fn members_that_hide_a_symbol_must_be_taken() {
    let lab = Lab::new();
    member(&lab, "d", ".text\n.globl c, v\nc: leaq v(%rip), %rax\nret\nv: ret\n");
    let hides = ".hidden v\n.data\n.quad v\n";
    for (a, b, takes) in [
        ("a: ret\n", "b: ret\n", [true; 3]),
        ("a: ret\n", "b: call nosuch@PLT\n", [false; 3]),
        // mold takes the strong definition.
        ("a: ret\n.weak b\nb: ret\n", "b: ret\n", [false, false, true]),
    ] {
        tool(&lab, "rm -rf parts");
        member(&lab, "user", ".text\n.globl own\nown: call a@PLT\ncall b@PLT\ncall c@PLT\n");
        member(&lab, "a", &format!(".text\n.globl a\n{a}"));
        member(&lab, "b", &format!(".text\n.globl b\n{b}{hides}"));
        for name in ["a", "b", "d"] {
            archive(&lab, OsStr::new(&format!("parts/lib{name}.a")), &[&format!("{name}.o")]);
        }
        tool(&lab, "ld -shared -o libuser.so user.o");
        let run = lab.linkaudit(&["fix", "libuser.so", "--lib-path", "parts", "--format", "json"]);
        let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
        let findings = report["findings"].as_array().expect("findings");
        let c = findings.iter().find(|finding| finding["symbol"] == "c").expect("a finding");
        assert_eq!(c["fix"][0]["proven"], takes == [true; 3], "{a}{b}{c:#}");
        // An unverified fix is left out.
        let archives = if b.contains("nosuch") { "parts/libd.a" } else { "parts/lib?.a" };
        let rest = "--unresolved-symbols=ignore-all -o new.so user.o";
        for (linker, takes) in ["ld", "ld.lld-19", "mold"].into_iter().zip(takes) {
            if has(linker) {
                let link = lab.sh(&format!("{linker} -shared {rest} {archives}"));
                assert_eq!(link.status.success(), takes, "{linker} {a}{b}{}", text(&link.stderr));
            }
        }
    }
}

/// The kinds of output, with the options of their links.
const SHARED: &str = "-shared";
const PIE: &str = "-pie -dynamic-linker /lib64/ld-linux-x86-64.so.2";
const FIXED: &str = "-no-pie -dynamic-linker /lib64/ld-linux-x86-64.so.2";
const KINDS: &[&str] = &[SHARED, PIE, FIXED];

/// A member of a fix in a link with a library.
struct WithLibrary {
    /// The code of the library that the object needs. It defines `n`.
    needed: &'static str,
    /// The code of a member that defines `g`.
    member: &'static str,
    /// The kinds of output that a linker refuses.
    refused: &'static [&'static str],
}

const DATA: &str = ".data\n.globl d\n.type d,@object\n.size d,8\nd: .quad 1\n";
const PROTECTED: &str = ".globl p\n.protected p\n.type p,@function\np: ret\n.data\n.globl d\n\
                         .protected d\n.type d,@object\n.size d,8\nd: .quad 1\n";
const UNTYPED: &str = ".data\n.globl d\nd: .quad 1\n";
const UNSIZED: &str = ".data\n.globl d\n.type d,@object\nd: .quad 1\n";
const THREAD_LOCAL: &str =
    ".section .tbss,\"awT\",@nobits\n.globl t\n.type t,@object\n.size t,8\nt: .quad 0\n";
const WITH_LIBRARIES: &[WithLibrary] = &[
    // `far` is in a library that only the needed library needs.
    WithLibrary { needed: "", member: "call far@PLT\n", refused: KINDS },
    WithLibrary { needed: "", member: "call n@PLT\n", refused: &[] },
    WithLibrary {
        needed: "",
        member: ".weak far\nleaq far(%rip), %rax\n",
        refused: &[SHARED, PIE],
    },
    WithLibrary { needed: "", member: ".weak n\nleaq n(%rip), %rax\n", refused: &[SHARED, PIE] },
    WithLibrary { needed: "", member: "leaq n(%rip), %rax\n", refused: &[SHARED, PIE] },
    // The program holds the address of a library's data or function.
    WithLibrary { needed: DATA, member: "movl d(%rip), %eax\n", refused: &[SHARED] },
    WithLibrary { needed: DATA, member: "movl $d, %eax\n", refused: &[SHARED, PIE] },
    WithLibrary { needed: PROTECTED, member: "movl d(%rip), %eax\n", refused: KINDS },
    WithLibrary { needed: PROTECTED, member: "movl $d, %eax\n", refused: KINDS },
    WithLibrary { needed: PROTECTED, member: "ret\n.data\n.quad d\n", refused: &[] },
    WithLibrary { needed: PROTECTED, member: "movq d@GOTPCREL(%rip), %rax\n", refused: &[] },
    WithLibrary { needed: PROTECTED, member: "call p@PLT\n", refused: &[] },
    WithLibrary { needed: PROTECTED, member: "leaq p(%rip), %rax\n", refused: KINDS },
    WithLibrary { needed: PROTECTED, member: "movl $p, %eax\n", refused: KINDS },
    // The library's symbol has no type, or no size.
    WithLibrary { needed: UNTYPED, member: "movl d(%rip), %eax\n", refused: KINDS },
    WithLibrary {
        needed: UNTYPED,
        member: "ret\n.section .rodata,\"a\"\n.quad d\n",
        refused: KINDS,
    },
    WithLibrary { needed: UNTYPED, member: "ret\n.data\n.quad d\n", refused: &[] },
    WithLibrary { needed: UNSIZED, member: "movl d(%rip), %eax\n", refused: KINDS },
    // The program has no thread-local variable of this name.
    WithLibrary { needed: THREAD_LOCAL, member: "movl %fs:t@tpoff, %eax\n", refused: KINDS },
    WithLibrary { needed: THREAD_LOCAL, member: "movq t@gottpoff(%rip), %rax\n", refused: &[] },
    WithLibrary {
        needed: "",
        member: ".weak w\nmovl %fs:w@tpoff, %eax\n",
        refused: &[SHARED, PIE],
    },
    WithLibrary {
        needed: "",
        member: "movl %fs:__start_foo@tpoff, %eax\n.section foo,\"awT\"\n.quad 0\n",
        refused: &[SHARED, PIE],
    },
    WithLibrary {
        needed: "",
        member: "movl %fs:_TLS_MODULE_BASE_@tpoff, %eax\n.section .tdata,\"awT\"\n.quad 0\n",
        refused: &[SHARED],
    },
    WithLibrary {
        needed: "",
        member: "leaq _TLS_MODULE_BASE_(%rip), %rax\n.section .tdata,\"awT\"\n.quad 0\n",
        refused: KINDS,
    },
    // GNU ld rejects a name that is thread-local in one file only.
    WithLibrary { needed: THREAD_LOCAL, member: "movq t@GOTPCREL(%rip), %rax\n", refused: KINDS },
    WithLibrary { needed: DATA, member: "movq d@gottpoff(%rip), %rax\n", refused: KINDS },
    // `local` is a local symbol of the object.
    WithLibrary {
        needed: "",
        member: ".weak local\nleaq local(%rip), %rax\n",
        refused: &[SHARED, PIE],
    },
];

/// Compilers link some libraries together with another one. Their definitions count, although the
/// object does not need these libraries.
#[test]
fn definitions_of_libraries_that_compilers_add() {
    let lab = Lab::new();
    member(&lab, "user", ".text\n.globl own\nown: call g@PLT\ncall n@PLT\nret\n");
    member(&lab, "near", ".text\n.globl n\n.type n,@function\nn: call far@PLT\nret\n");
    member(&lab, "far", ".text\n.globl far\n.type far,@function\nfar: ret\n");
    member(&lab, "g", ".text\n.globl g\ng: call far@PLT\nret\n");
    archive(&lab, OsStr::new("parts/libg.a"), &["g.o"]);
    for (near, far, is_added) in [
        ("libgfortran.so.5", "libquadmath.so.0", true),
        ("libgfortran.so.5", "libm.so.6", true),
        ("libgfortran.so.5", "libgomp.so.1", false),
        ("libquadmath.so.0", "libgfortran.so.5", false),
        ("libc++.so.1", "libc++abi.so.1", true),
        ("libc++.so.1", "libunwind.so.1", true),
        ("libc++.so.1", "libm.so.6", true),
        ("libc++abi.so.1", "libc++.so.1", false),
        ("libstdc++.so.6", "libm.so.6", true),
        ("libstdc++.so.6", "libquadmath.so.0", false),
    ] {
        let rest = "-rpath='$ORIGIN' -o";
        tool(&lab, &format!("rm -f *.so*; ld -shared -soname={far} -o {far} far.o"));
        tool(&lab, &format!("ld -shared -soname={near} {rest} {near} near.o {far}"));
        tool(&lab, &format!("ld -shared {rest} user.so user.o {near}"));
        let (is_verified, doubts) = verified(&lab, "user.so");
        assert_eq!(is_verified, is_added, "{near} {far}: {doubts}");
    }
}

/// Definitions of libraries count only if the object needs the library directly, and if the linker
/// can refer to them.
#[test]
fn definitions_of_needed_libraries() {
    let linkers = ["ld -z text", "ld.lld-19", "mold -z text"];
    if !["ld", "ld.lld-19", "mold"].iter().all(|linker| has(linker)) {
        return skip("definitions_of_needed_libraries", "needs three linkers");
    }
    let lab = Lab::new();
    let user = ".text\n.globl own, _start\n_start:\nown: call g@PLT\ncall n@PLT\nret\nlocal: ret\n";
    member(&lab, "user", user);
    member(&lab, "far", ".text\n.globl far\n.type far,@function\nfar: ret\n");
    tool(&lab, "ld -shared -o libfar.so far.o");
    let (mut links, mut wrong) = (0, Vec::new());
    for WithLibrary { needed, member: code, refused } in WITH_LIBRARIES {
        let base = ".text\n.globl n\n.type n,@function\nn: call far@PLT\nret\n";
        member(&lab, "near", &format!("{base}{needed}"));
        tool(&lab, "ld -shared -rpath='$ORIGIN' -o libnear.so near.o libfar.so; rm -rf parts");
        member(&lab, "g", &format!(".text\n.globl g\ng: {code}"));
        archive(&lab, OsStr::new("parts/libg.a"), &["g.o"]);
        for kind in KINDS {
            let rest = "-rpath='$ORIGIN' -rpath-link=. -o";
            let before = "--unresolved-symbols=ignore-all";
            tool(&lab, &format!("ld.lld-19 {kind} {before} {rest} user.so user.o libnear.so"));
            let (is_verified, doubts) = verified(&lab, "user.so");
            let all = linkers.map(|linker| {
                links += 1;
                let line = "new.so user.o parts/libg.a libnear.so";
                lab.sh(&format!("{linker} {kind} -z defs {rest} {line}")).status.success()
            });
            let takes = !refused.contains(kind);
            if is_verified != takes || all.contains(&false) == takes {
                let result = format!("verified {is_verified} ({doubts}), links {all:?}");
                wrong.push(format!("{kind} {needed}{code}{result}"));
            }
        }
    }
    println!("links with libraries: {links} links, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The parts of a merged archive need definitions of libraries that the object needs directly, too.
#[test]
fn definitions_of_needed_libraries_for_a_merged_archive() {
    let linkers = ["ld", "ld.lld-19", "mold"];
    if !linkers.iter().all(|linker| has(linker)) {
        return skip("definitions_of_needed_libraries_for_a_merged_archive", "needs three linkers");
    }
    let lab = Lab::new();
    member(&lab, "user", ".text\n.globl own\nown: call base@PLT\ncall g@PLT\ncall near@PLT\nret\n");
    member(&lab, "base", ".text\n.globl base\nbase: ret\n");
    member(&lab, "far", ".text\n.globl far\nfar: ret\n");
    member(&lab, "near", ".text\n.globl near\nnear: call far@PLT\nret\n");
    tool(&lab, "ld -shared -o libfar.so far.o");
    tool(&lab, "ld -shared -rpath='$ORIGIN' -o libnear.so near.o libfar.so");
    archive(&lab, OsStr::new("own/libuser.a"), &["user.o"]);
    archive(&lab, OsStr::new("own/libfat.a"), &["user.o", "base.o"]);
    lab.write("deps.cmake", "set(parts\nbase\n)\nset(own\nuser\n)\n");
    for (code, libraries, takes) in [
        ("ret\n", "libnear.so", true),
        ("call near@PLT\nret\n", "libnear.so", true),
        ("call far@PLT\nret\n", "libnear.so", false),
        ("call far@PLT\nret\n", "libnear.so libfar.so", true),
    ] {
        let link = format!("-rpath='$ORIGIN' -u own own/libfat.a {libraries}");
        tool(&lab, &format!("rm -rf parts; ld -shared -o libuser.so {link}"));
        member(&lab, "g", &format!(".text\n.globl g\ng: {code}"));
        archive(&lab, OsStr::new("parts/libbase.a"), &["base.o"]);
        archive(&lab, OsStr::new("parts/libg.a"), &["g.o"]);
        let places = ["--lib-path", "parts", "--lib-path", "own"];
        let list = ["--deps-list", "deps.cmake", "--archive", "own/libfat.a", "--format", "json"];
        let run = lab.linkaudit(&[&["fix", "libuser.so"][..], &places, &list].concat());
        let report: Value = serde_json::from_slice(&run.stdout).expect("a report");
        let findings = report["findings"].as_array().expect("findings").iter();
        let fixes: Vec<&Value> = findings
            .filter(|finding| finding["rule"] == "undefined-symbol")
            .flat_map(|finding| finding["fix"].as_array().expect("fixes"))
            .collect();
        assert_eq!(fixes.len(), 1, "{code}{libraries}: {report}");
        assert_eq!(fixes[0]["proven"], takes, "{code}{libraries}: {}", fixes[0]);
        let all = linkers.map(|linker| {
            let link = format!("{linker} -shared -z defs -o new.so user.o base.o g.o {libraries}");
            lab.sh(&link).status.success()
        });
        assert_eq!(all, [takes; 3], "{code}{libraries}");
    }
}
