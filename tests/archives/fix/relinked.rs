//! Links that a fix repeats by the rules of each linker: the references of the library itself,
//! indexes of archives, libraries beside archives, and rival archives. Each fix that is verified is
//! linked by all linkers, and `ldd -r` reads the result.

use super::kit::{text, tool};
use super::libraries::{fixes, set};
use crate::support::{Lab, has};

/// The linkers that `cc -fuse-ld=` accepts.
const LINKERS: &[(&str, &str)] = &[("ld.bfd", "bfd"), ("ld.lld", "lld"), ("mold", "mold")];

const ARGS: [&str; 3] = ["libuser.so", "--lib-path", "libs"];

/// Assembles `NAME.o`. Each part of `code` is `defined: referred …`; a name that begins with `?` is
/// a weak reference.
fn code(lab: &Lab, name: &str, code: &[&str]) {
    let mut out = String::from(".section .note.GNU-stack,\"\"\n.text\n");
    for part in code {
        let (own, others) = part.split_once(':').expect("a definition");
        out += &format!(".globl {own}\n.type {own},@function\n{own}:\n");
        for other in others.split_whitespace() {
            let strong = other.trim_start_matches('?');
            let weak = if strong == other { "" } else { &format!(".weak {strong}\n") };
            out += &format!("{weak} call {strong}@PLT\n");
        }
        out += " ret\n";
    }
    lab.write(&format!("{name}.s"), out);
    tool(lab, &format!("as -o {name}.o {name}.s"));
}

/// Links the library without its dependencies.
fn library(lab: &Lab) {
    tool(lab, "cc -nostdlib -shared -o libuser.so user.o; mkdir -p libs");
}

/// The linkers that link the library with `files` and leave no name undefined.
fn accepting(lab: &Lab, files: &str) -> Vec<&'static str> {
    let present = LINKERS.iter().filter(|(program, _)| has(program));
    let links = |(_, linker): &&(&str, &'static str)| {
        let run = lab.sh(&format!(
            "cc -nostdlib -shared -fuse-ld={linker} -Wl,-z,defs -Wl,-rpath,$PWD/libs \
             -o new.so user.o {files}"
        ));
        run.status.success() && lab.undefined("new.so").is_empty()
    };
    present.filter(links).map(|(_, linker)| *linker).collect()
}

/// The library refers strongly to a name to which a member refers weakly. A later member of the
/// same archive defines it.
#[test]
fn references_of_the_library_itself_are_strong() {
    let lab = Lab::new();
    code(&lab, "user", &["user: s0 s1"]);
    code(&lab, "a", &["s1: ?s0"]);
    code(&lab, "b", &["s0:"]);
    library(&lab);
    for members in ["a.o b.o", "b.o a.o"] {
        tool(&lab, &format!("rm -f libs/*; ar rcs libs/liba.a {members}"));
        assert_eq!(fixes(&lab, &ARGS), (set(&["liba.a"]), true), "{members}");
        assert!(accepting(&lab, "libs/liba.a").contains(&"bfd"));
        assert_eq!(accepting(&lab, "libs/liba.a").len(), present(), "{members}");
    }
}

/// The number of linkers that are installed.
fn present() -> usize {
    LINKERS.iter().filter(|(program, _)| has(program)).count()
}

/// GNU ld finds members by the index alone.
#[test]
fn an_index_without_the_symbol() {
    let lab = Lab::new();
    code(&lab, "user", &["user: fgh"]);
    code(&lab, "f", &["fgh: inner"]);
    code(&lab, "inner", &["inner:"]);
    library(&lab);
    for name in ["fgh", "inner"] {
        tool(&lab, "rm -f libs/*; ar rcs libs/libf.a f.o inner.o");
        assert_eq!(fixes(&lab, &ARGS), (set(&["libf.a"]), true));
        assert_eq!(accepting(&lab, "libs/libf.a").len(), present());
        let mut bytes = std::fs::read(lab.path("libs/libf.a")).expect("an archive");
        let text_of_index = format!("{name}\0");
        let at = bytes.windows(text_of_index.len()).position(|at| at == text_of_index.as_bytes());
        bytes[at.expect("the name")] = b'x';
        lab.write("libs/libf.a", bytes);
        assert_eq!(fixes(&lab, &ARGS), (set(&["libf.a"]), false), "{name}");
        assert!(!accepting(&lab, "libs/libf.a").contains(&"bfd"), "{name}");
        let said = text(&lab.linkaudit(&[&["fix"], &ARGS[..]].concat()).stdout);
        assert!(said.contains(&format!("libf.a lacks {name}: run ranlib")), "{said}");
    }
}

/// A shared library that refers to a name which an added archive defines. The linked file exports
/// the name, unless a member hides it.
#[test]
fn an_archive_defines_names_for_an_added_library() {
    let lab = Lab::new();
    code(&lab, "user", &["user: s1 s2"]);
    code(&lab, "b", &["s1: s2"]);
    library(&lab);
    for (visibility, is_verified) in [("", true), (".hidden s2\n", false)] {
        code(&lab, "a", &["s2:"]);
        lab.write("more.s", visibility);
        tool(&lab, "cat a.s more.s | as -o a.o; rm -f libs/*; ar rcs libs/liba.a a.o");
        tool(&lab, "ld -shared -soname libb.so -o libs/libb.so b.o");
        let (names, verified) = fixes(&lab, &ARGS);
        assert_eq!((names, verified), (set(&["liba.a", "libb.so"]), is_verified), "{visibility}");
        let accepting = accepting(&lab, "libs/liba.a libs/libb.so");
        let expected = if is_verified { present() } else { 0 };
        assert_eq!(accepting.len(), expected, "{visibility} {accepting:?}");
    }
}

/// The smallest archive is tried first. If it does not link, a rival is used.
#[test]
fn rivals_of_an_archive_that_does_not_link() {
    let lab = Lab::new();
    code(&lab, "user", &["user: f", "twice:"]);
    code(&lab, "good", &["f: more", "more:", "much:", "much_more:"]);
    code(&lab, "open", &["f: gone"]);
    code(&lab, "twice", &["f:", "twice:"]);
    lab.write("absolute.s", ".globl f\nf: movl $q, %eax\n.data\nq: .long 0\n");
    tool(&lab, "as -o absolute.o absolute.s");
    code(&lab, "plain", &["f:"]);
    // The size of an archive is its number of members.
    code(&lab, "other", &["other:"]);
    library(&lab);
    for (bad, letters) in [("open", "rcs"), ("twice", "rcs"), ("absolute", "rcs"), ("plain", "rcS")]
    {
        tool(
            &lab,
            &format!(
                "rm -f libs/*; ar {letters} libs/libf.a {bad}.o; ar rcs libs/libf_pic.a good.o other.o"
            ),
        );
        assert_eq!(fixes(&lab, &ARGS), (set(&["libf_pic.a"]), true), "{bad}");
        assert!(!accepting(&lab, "libs/libf.a").contains(&"bfd"), "{bad}");
        assert_eq!(accepting(&lab, "libs/libf_pic.a").len(), present(), "{bad}");
        // Without a rival, the archive stays.
        tool(&lab, "rm libs/libf_pic.a");
        assert_eq!(fixes(&lab, &ARGS), (set(&["libf.a"]), false), "{bad}");
    }
}
