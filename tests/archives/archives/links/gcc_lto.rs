//! Links with GCC's LTO: objects hold nothing but GCC's intermediate language
//! (`-fno-fat-lto-objects`). GNU ld and mold read it with GCC's plugin; lld cannot.

use super::{Answer, Link, compare, member, undefined_name, without_objects};
use crate::archives::kit::{ar, archive, has_linker, object, run, undefined, unknown};
use crate::support::{Lab, clean, has, skip};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// How objects are compiled.
pub(super) const OPTIONS: &str = "-O1 -w -fPIC -fcommon -flto -fno-fat-lto-objects -c";

/// The C source of an object.
pub(super) fn source(words: &str) -> String {
    let mut out = String::new();
    let is_reference = |word: &&str| word.starts_with(['!', '?']);
    let defined: Vec<&str> = words.split_whitespace().filter(|word| !is_reference(word)).collect();
    for word in &defined {
        let end = word.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(word.len());
        let (name, kind) = word.split_at(end);
        out += &match kind {
            "" => format!("void {name}(void) {{}}\n"),
            "=" => format!("long {name} = 1;\n"),
            "~" => format!("__attribute__((weak)) void {name}(void) {{}}\n"),
            "%" => format!("long {name};\n"),
            ".h" => format!("__attribute__((visibility(\"hidden\"))) void {name}(void) {{}}\n"),
            ".p" => format!("__attribute__((visibility(\"protected\"))) void {name}(void) {{}}\n"),
            _ => panic!("{word} in C"),
        };
    }
    for (at, word) in words.split_whitespace().filter(is_reference).enumerate() {
        let (name, hidden) = match word[1..].split_once('.') {
            Some((name, "h")) => (name, "__attribute__((visibility(\"hidden\"))) "),
            _ => (&word[1..], ""),
        };
        let weak = if word.starts_with('?') { "__attribute__((weak)) " } else { "" };
        let is_own = defined.iter().any(|word| {
            word.strip_prefix(name).is_some_and(|end| !end.starts_with(char::is_alphanumeric))
        });
        if !is_own {
            writeln!(out, "extern {hidden}{weak}void {name}(void);").expect("a string");
        }
        let kept = "__attribute__((used)) static void *";
        writeln!(out, "{kept}ref{at} = &{name};").expect("a string");
    }
    out
}

/// The answer of GNU ld or mold, which GCC starts with its plugin.
pub(super) fn theirs(lab: &Lab, program: &str, words: &[&str]) -> Option<Answer> {
    let is_mold = program == "mold";
    let mut command = clean("gcc");
    command.current_dir(lab.root()).args([
        "-shared",
        "-nostdlib",
        "-flto",
        "-w",
        "-o",
        "/dev/null",
    ]);
    command.arg(if is_mold { "-fuse-ld=mold" } else { "-fuse-ld=bfd" });
    let trace: &[&str] = if is_mold { &["--trace"] } else { &["-t", "-t"] };
    let common = ["-z", "defs", "--noinhibit-exec", "--allow-multiple-definition"];
    for option in common.iter().chain(&["--version-script=versions"]).chain(trace) {
        command.args(["-Xlinker", option]);
    }
    let mut is_value = false;
    for word in words {
        if is_value || word.starts_with('-') {
            command.arg("-Xlinker");
        }
        command.arg(word);
        is_value = *word == "-u";
    }
    let output = command.output().expect("gcc runs");
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    if messages.contains("Segmentation fault") {
        return None;
    }
    let undefined = messages.lines().filter_map(undefined_name).collect();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &messages;
    let mut lines: Vec<&str> = text.lines().collect();
    if is_mold {
        // mold starts again after LTO, with the files that are needed.
        lines.retain(|line| line.starts_with("trace: "));
        let again = lines.iter().skip(1).position(|line| Some(line) == lines.first())?;
        lines.drain(..=again);
    }
    let words_of = lines.iter().flat_map(|line| line.split_whitespace());
    let files: BTreeSet<String> = words_of.filter_map(member).collect();
    Some((without_objects(files, words), undefined))
}

const CASES: &[(&str, &str)] = &[
    ("GM: !f | GA: f", "GM [GA]"),
    ("GM: !f | GA: f", "[GA] GM"),
    ("GM: !f | GA: f !g | GB: g", "GM [GA] [GB]"),
    ("GM: !f | GA: f !g | GB: g", "GM [GB] [GA]"),
    ("GM: !f | GA: f !g | GB: g", "GM --start-group [GB] [GA] --end-group"),
    ("GM: !f | GA: f | GB: f", "GM [GA] [GB]"),
    ("GM: !nosuch | GA: f", "GM [GA]"),
    ("GM: !f | GA: f !nosuch", "GM [GA]"),
    ("GM: x | GA: f !nosuch", "GM [GA]"),
    ("m: !f | GA: f", "m [GA]"),
    ("m: !f | GA: f !g | b: g", "m [GA] [b]"),
    ("m: !f | GA: f !g | b: g", "m [GA b]"),
    ("GM: !f | a: f !g | GB: g", "GM [a] [GB]"),
    ("GM: !f | GA: f | b: f", "GM [GA] [b]"),
    ("GM: !f | GA: f | b: f", "GM [b] [GA]"),
    ("GM: ?f | GA: f", "GM [GA]"),
    ("GM: ?f | n: !f | GA: f", "GM n [GA]"),
    ("GM: ?f", "GM"),
    ("GM: !f | GA: f~ | GB: f", "GM [GA] [GB]"),
    ("GM: !f | GA: f~ | b: f", "GM [GA] [b]"),
    ("GM: f~ | GA: f", "GM [GA]"),
    ("GM: !f | GA: f%", "GM [GA]"),
    ("GM: !f | GA: f% | GB: f=", "GM [GA] [GB]"),
    ("m: f% | GA: f=", "m [GA]"),
    ("GM: !f.h | GA: f", "GM [GA]"),
    ("GM: !f.h | d: f | GA: f", "GM (d) [GA]"),
    ("GM: !f | GA: f.h", "GM [GA]"),
    ("GM: !f | GA: f.p", "GM [GA]"),
    ("GM: !f | d: f | GA: f", "GM (d) [GA]"),
    ("GM: !f | d: f | GA: f", "GM [GA] (d)"),
    ("GM: x | GA: f", "GM -u f [GA]"),
    ("GM: x | GA: f", "GM --whole-archive [GA] --no-whole-archive"),
    ("GM: x | GA: f !g | GB: g", "GM --whole-archive [GA] --no-whole-archive [GB]"),
    ("GM: !f | GA: f", "GM --start-lib GA --end-lib"),
    ("GM: !f | b: __wrap_f", "--wrap=f GM [b]"),
    ("m: !f | GB: __wrap_f", "--wrap=f m [GB]"),
    // GNU ld searches only the archives after the first object with LTO again.
    ("GM: !f | b: f", "[b] GM"),
    ("m: x | GM: !f | b: f", "m [b] GM"),
    ("GN: x | GM: !f | b: f", "GN [b] GM"),
    ("GM: !f !g | GA: g | b: f", "[b] GM [GA]"),
    ("GM: !f | b: f", "--start-group [b] --end-group GM"),
    ("GM: !f | b: f", "--start-group [b] GM --end-group"),
    ("GM: !f | GN: x | b: f", "--start-group GN [b] --end-group GM"),
    ("m: !g | GA: g !f | b: f", "m [b] [GA]"),
    ("m: !g | GA: g !f | b: f", "[b] m [GA]"),
    ("m: !g | n: x | GA: g !f | b: f", "m [b] n [GA]"),
    ("GA: g !f | b: f", "-u g [b] [GA]"),
    ("GA: g !f | b: f", "-u g [GA] [b]"),
    ("n: x | GA: g !f | b: f", "-u g [GA] [b] n"),
    ("GM: !f | d: f", "--as-needed (d) GM"),
    ("GN: x | GM: !f | d: f", "--as-needed GN (d) GM"),
    ("m: x | GM: !f | d: f", "--as-needed m (d) GM"),
];

/// Cases in which linkaudit does not follow a linker, each with the reason.
const EXCEPT: &[(&str, &str, &str)] = &[
    // After LTO mold 1.10 resolves names again without the intermediate language: it links both
    // definitions. GNU ld is right.
    ("GM: !f | GA: f | b: f", "GM [GA] [b]", "mold"),
];

#[test]
fn links_with_objects_of_gcc_lto() {
    if !has("gcc-ar") {
        return skip("links_with_objects_of_gcc_lto", "there is no gcc-ar");
    }
    let mut links: Vec<Link> =
        CASES.iter().map(|(objects, line)| Link::new(objects, line, &["lld"])).collect();
    for (objects, line, linker) in EXCEPT {
        let mut found = links.iter_mut().filter(|l| l.objects == *objects && l.line == *line);
        found.next().expect("a case").except.push(linker);
    }
    let (cases, wrong) = compare(&links);
    println!(
        "links with GCC's LTO: {} links by hand, {cases} cases, {} listed, {} differences",
        links.len(),
        EXCEPT.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Compiles C files twice, as `NAME.o` with LTO and as `NAMEn.o` without, and makes `NAME.a` of the
/// first.
fn compile(lab: &Lab, sources: &[(&str, &str)]) {
    object(lab, "st.o", ".globl _start\n_start: call main\n");
    for (name, source) in sources {
        let (file, lto, native) = (format!("{name}.c"), format!("{name}.o"), format!("{name}n.o"));
        lab.write(&file, source);
        for (name, option) in [(&lto, "-flto"), (&native, "-fno-lto")] {
            let args = ["-w", "-fPIC", option, "-c", &file, "-o", name];
            run(clean("gcc").current_dir(lab.root()).args(args));
        }
        run(clean("gcc-ar").current_dir(lab.root()).args(["rc", &format!("{name}.a"), &lto]));
    }
}

/// The undefined names of a link of a program by GCC, and whether the link succeeds.
fn linked(lab: &Lab, linker: &str, words: &str) -> (BTreeSet<String>, bool) {
    let options = ["-nostdlib", "-no-pie", "-flto", "-w", "-o", "out", "st.o"];
    let mut command = clean("gcc");
    command.current_dir(lab.root()).arg(format!("-fuse-ld={linker}")).args(options);
    for word in words.split(' ') {
        let is_option = word.starts_with("--");
        command.args(is_option.then_some("-Xlinker")).arg(word);
    }
    let output = command.output().expect("gcc runs");
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    let gnu = messages.lines().filter_map(undefined_name);
    let mold = messages.lines().filter_map(|line| line.split_once("undefined symbol: "));
    (gnu.chain(mold.map(|(_, name)| name.to_owned())).collect(), output.status.success())
}

/// The undefined and the unknown names of the same link by linkaudit.
fn ours(lab: &Lab, linker: &str, words: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut args = vec!["--linker", if linker == "bfd" { "gnu" } else { linker }, "st.o"];
    args.extend(words.split(' '));
    let (answer, _) = archive(&lab.root(), &args);
    (undefined(&answer), unknown(&answer))
}

/// LTO does not know that a reference to `foo` goes to `__wrap_foo`, so it drops the wrapper.
#[test]
fn definitions_that_only_wrapped_references_need() {
    if !has("gcc-ar") {
        return skip("definitions_that_only_wrapped_references_need", "there is no gcc-ar");
    }
    let lab = Lab::new();
    compile(
        &lab,
        &[
            ("b", "void foo(); int main(){foo();}"),
            ("w", "void __wrap_foo(){}"),
            ("v", "void __real_foo(); void __wrap_foo(){__real_foo();}"),
            ("f", "void foo(){}"),
            ("x", "void foo(); void x(){foo();}"),
            ("y", "void x(); int main(){x();}"),
        ],
    );
    for (linker, line, expected) in [
        ("bfd", "b.o w.o", "__wrap_foo"),
        ("bfd", "b.o w.a", "__wrap_foo"),
        ("bfd", "y.o x.o w.o", "__wrap_foo"),
        ("bfd", "b.o w.o --export-dynamic", ""),
        ("bfd", "bn.o w.o", ""),
        ("bfd", "b.o wn.o", ""),
        ("bfd", "b.o xn.o w.o", ""),
        ("bfd", "bn.o v.a f.a", ""),
        ("mold", "b.o w.o", ""),
        ("mold", "b.o w.a", "__wrap_foo"),
        ("mold", "bn.o w.a", ""),
        ("mold", "bn.o v.a f.a", "foo"),
        ("mold", "bn.o v.o f.o", ""),
    ] {
        if linker == "mold" && !has_linker("mold") {
            continue;
        }
        let line = format!("--wrap=foo {line}");
        let expected: BTreeSet<String> = expected.split_whitespace().map(str::to_owned).collect();
        let (theirs, is_linked) = linked(&lab, linker, &line);
        assert_eq!((&theirs, is_linked), (&expected, expected.is_empty()), "{linker} {line}");
        let (undefined, unknown) = ours(&lab, linker, &line);
        assert_eq!((undefined, unknown), (BTreeSet::new(), expected), "{linker} {line}");
    }
}

/// A shared object refers to a hidden function: the link fails if LTO keeps the function.
#[test]
fn hidden_definitions_that_libraries_refer_to() {
    if !has("gcc-ar") {
        return skip("hidden_definitions_that_libraries_refer_to", "there is no gcc-ar");
    }
    let lab = Lab::new();
    let foo = "__attribute__((visibility(\"hidden\"))) void foo(){}";
    compile(
        &lab,
        &[
            ("a", &format!("void bar(); {foo} int main(){{bar();}}")),
            ("k", &format!("void bar(); __attribute__((used)) {foo} int main(){{bar();}}")),
            ("n", "void foo(); void n(){foo();}"),
            ("c", &format!("void bar(); void n(); {foo} int main(){{bar(); n();}}")),
        ],
    );
    lab.write("bar.c", "void foo(); void bar(){foo();}");
    let args = ["-shared", "-fPIC", "-nostdlib", "-w", "-o", "libbar.so", "bar.c"];
    run(clean("gcc").current_dir(lab.root()).args(args));
    for (objects, is_linked, is_known) in [
        ("a.o", true, false),
        ("k.o", false, false),
        ("c.o nn.o", false, true),
        ("an.o", false, true),
    ] {
        let line = format!("{objects} ./libbar.so");
        assert_eq!(linked(&lab, "bfd", &line).1, is_linked, "{line}");
        let foo = BTreeSet::from(["foo".to_owned()]);
        let expected = if is_known { (foo, BTreeSet::new()) } else { (BTreeSet::new(), foo) };
        assert_eq!(ours(&lab, "bfd", &line), expected, "{line}");
    }
}

/// GCC's symbol table lacks references to functions that GCC knows, such as `printf`.
#[test]
fn builtins_without_a_symbol() {
    if !has("gcc-ar") {
        return skip("builtins_without_a_symbol", "there is no gcc-ar");
    }
    let lab = Lab::new();
    compile(
        &lab,
        &[
            ("m", "int printf(const char *, ...); int main(){printf(\"%d\\n\", 1);}"),
            ("n", "int other(const char *); int main(){other(\"printf\");}"),
        ],
    );
    let native = |name: &str, symbol: &str| {
        object(&lab, &format!("{name}.o"), &format!(".globl {symbol}\n{symbol}: nop\n"));
        ar(&lab, "rc", &format!("{name}.a"), &[&format!("{name}.o")]);
    };
    native("p", "printf");
    native("q", "memcpy");
    native("o", "other");
    let map = |line: &str| {
        linked(&lab, "bfd", &format!("{line} -Wl,-Map=map"));
        std::fs::read_to_string(lab.path("map")).expect("a map").contains("p.a(p.o)")
    };
    for (line, is_uncertain) in [
        ("m.o q.o p.a", true),
        ("mn.o q.o p.a", false),
        ("m.o q.o p.o p.a", false),
        ("m.o q.o o.a", false),
        ("n.o q.o o.o p.a", false),
    ] {
        let members = ["--linker", "gnu", "st.o"].into_iter().chain(line.split(' '));
        let (answer, status) = archive(&lab.root(), &members.collect::<Vec<_>>());
        assert_eq!(answer["complete"], !is_uncertain, "{line}: {answer}");
        assert_eq!(status == Some(3), is_uncertain, "{line}");
        let ours = crate::archives::kit::members(&answer).contains(&"p.a(p.o)".to_owned());
        assert_eq!(map(line), ours || is_uncertain, "{line}");
    }
    for level in ["0", "9"] {
        let options = ["-flto", "-c", "m.c", "-o", "m.o"];
        let level = format!("-flto-compression-level={level}");
        run(clean("gcc").current_dir(lab.root()).arg("-w").arg(level).args(options));
        let line = ["--linker", "gnu", "st.o", "m.o", "q.o", "p.a"];
        assert_eq!(archive(&lab.root(), &line).1, Some(3));
    }
}
