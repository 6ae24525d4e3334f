//! Small links in a compact notation, each made by lld 19, GNU ld and mold. `linkaudit archive
//! --linker` must find the same extracted members and undefined names. `cases` has cases by hand,
//! `random` makes others.
//!
//! Objects are `NAME: WORDS`, separated by `|`. A word is a definition or a reference:
//!
//! | word | meaning |
//! | --- | --- |
//! | `f` `f=` `f~` | a function, data, a weak function |
//! | `f=0` `f=1` | data in `.bss` and in `.data`, with a size |
//! | `f%%` | common in the section of large data |
//! | `f%` `f^` `f^^` `f*` | common, weak in a COMDAT group, strong in one, STB_GNU_UNIQUE |
//! | `f$` | weak in a COMDAT group whose signature is no symbol, like that of a constructor |
//! | `f&` | weak in a COMDAT group whose signature is no symbol, and the same for all names |
//! | `f^>g` `f$>g` `f&>g` | the same as `f^`, `f$` and `f&`, and the function calls `g` |
//! | `f.h` `f.p` `f%.h` | data with hidden or protected visibility, hidden and common |
//! | `f@V0` `f@@V1` | a function with an old or a default version |
//! | `!f` `?f` | a strong and a weak reference |
//! | `!f.h` `?f.h` `!f@V0` `?f@V0` | references with hidden visibility, and to a version |
//!
//! Names that begin with `t` are thread-local. An object whose name begins with a capital letter
//! is LLVM bitcode (`bitcode`), or GCC's intermediate language if the letter is `G` (`gcc_lto`).
//! A line has names of objects, `[a b]` for an archive of them, `(a)` for a shared object, and
//! options; `pie` and `exe` say that no shared object is linked.

mod bitcode;
mod cases;
mod discarded;
mod gcc_lto;
mod gnu;
mod random;

use super::kit::{ar, archive, has_linker, object, run};
use crate::support::{Lab, clean, skip};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

/// A link: its objects, its line, and the linkers that are not compared.
#[derive(Clone, Debug)]
pub struct Link {
    objects: String,
    line: String,
    except: Vec<&'static str>,
}

impl Link {
    fn new(objects: &str, line: &str, except: &[&'static str]) -> Self {
        Self { objects: objects.into(), line: line.into(), except: except.to_vec() }
    }
}

/// The plugin with which GNU ld reads bitcode.
const PLUGIN: &str = "/usr/lib/llvm-19/lib/LLVMgold.so";
/// The linkers: the program, and its name for `--linker`.
const LINKERS: &[(&str, &str)] = &[("ld.lld-19", "lld"), ("ld", "gnu"), ("mold", "mold")];

/// True for the name of a bitcode file, and of an archive with one.
fn is_bitcode(file: &str) -> bool {
    file.starts_with('b')
}

/// True for the name of a file with GCC's intermediate language, and of an archive with one.
fn is_gcc_lto(file: &str) -> bool {
    file.starts_with('g')
}

/// The source of an object.
pub(crate) fn source(words: &str) -> String {
    // Maps of mold name only files with sections in the output.
    let mut out = ".section .mark,\"a\"\n.byte 1\n".to_owned();
    for word in words.split_whitespace() {
        let text = match word.as_bytes()[0] {
            b'!' | b'?' => reference(&word[1..], word.starts_with('?')),
            _ => definition(word),
        };
        out += &text;
    }
    out
}

fn reference(word: &str, weak: bool) -> String {
    let (name, visibility) = match word.split_once('.') {
        Some((name, "h")) => (name, format!(".hidden {name}\n")),
        Some((name, "p")) => (name, format!(".protected {name}\n")),
        _ => (word, String::new()),
    };
    let weak = if weak { format!(".weak {name}\n") } else { String::new() };
    if let Some((plain, _)) = name.split_once('@') {
        let weak = weak.replace(name, &format!("{plain}_ref"));
        return format!(".data\n{weak}.symver {plain}_ref,{name}\n.quad {plain}_ref\n");
    }
    if name.starts_with('t') {
        return format!(
            ".text\n{visibility}{weak}data16 leaq {name}@tlsgd(%rip), %rdi\n.value 0x6666\nrex64\n\
             call __tls_get_addr@PLT\n"
        );
    }
    format!(".data\n{visibility}{weak}.quad {name}\n")
}

fn definition(word: &str) -> String {
    let end = word.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(word.len());
    let (name, kind) = word.split_at(end);
    let function = format!(".text\n.globl {name}\n.type {name},@function\n{name}: nop\n");
    let data = format!(".data\n.globl {name}\n.type {name},@object\n{name}: .quad 0\n");
    let (kind, calls) = match kind.split_once('>') {
        Some((kind, called)) => (kind, format!("call {called}@PLT\n")),
        None => (kind, String::new()),
    };
    let group =
        |signature: &str| format!(".section .text.{name},\"axG\",@progbits,{signature},comdat\n");
    if name.starts_with('t') {
        let bind = if kind == "~" { "weak" } else { "globl" };
        return format!(
            ".section .tdata,\"awT\",@progbits\n.{bind} {name}\n.type {name},@tls_object\n{name}: .quad 0\n"
        );
    }
    match kind {
        "" => function,
        "=" => data,
        "=0" => format!("{}\n.size {name},8\n", data.replace(".data", ".bss")),
        "=1" => format!("{data}.size {name},8\n"),
        "~" => format!(".text\n.weak {name}\n.type {name},@function\n{name}: nop\n"),
        "%" => format!(".comm {name},8,8\n"),
        "%.h" => format!(".hidden {name}\n.comm {name},8,8\n"),
        "%%" => format!(".largecomm {name},8,8\n"),
        "^" => format!("{}.weak {name}\n{name}: nop\n{calls}", group(name)),
        "$" => format!("{}.weak {name}\n{name}: nop\n{calls}", group(&format!("_ZN1{name}C5Ev"))),
        "&" => format!("{}.weak {name}\n{name}: nop\n{calls}", group("shared")),
        "^^" => format!("{}.globl {name}\n{name}: nop\n", group(name)),
        "*" => format!(".data\n.globl {name}\n.type {name},@gnu_unique_object\n{name}: .quad 0\n"),
        ".h" => format!(".hidden {name}\n{data}"),
        ".p" => format!(".protected {name}\n{data}"),
        version => format!(
            ".text\n.globl {name}_impl\n{name}_impl: nop\n.symver {name}_impl,{name}{version},remove\n"
        ),
    }
}

/// All files of the links, each built once, and the shell commands that build them.
#[derive(Default)]
struct Files {
    names: BTreeMap<String, String>,
    sources: Vec<(String, String)>,
    modules: Vec<(String, String)>,
    units: Vec<(String, String)>,
    archives: Vec<(String, Vec<String>)>,
    shared: Vec<(String, String)>,
}

impl Files {
    fn name(&mut self, key: &str, prefix: &str, end: &str) -> (String, bool) {
        let next = format!("{prefix}{}{end}", self.names.len());
        let new = !self.names.contains_key(key);
        (self.names.entry(key.to_owned()).or_insert(next).clone(), new)
    }

    fn object(&mut self, words: &str) -> String {
        let (name, new) = self.name(&format!("o {words}"), "o", ".o");
        if new {
            self.sources.push((name.clone(), source(words)));
        }
        name
    }

    fn bitcode(&mut self, words: &str) -> String {
        let (name, new) = self.name(&format!("b {words}"), "b", ".o");
        if new {
            self.modules.push((name.clone(), bitcode::source(words)));
        }
        name
    }

    fn gcc_lto(&mut self, words: &str) -> String {
        let (name, new) = self.name(&format!("g {words}"), "g", ".o");
        if new {
            self.units.push((name.clone(), gcc_lto::source(words)));
        }
        name
    }

    fn archive(&mut self, members: Vec<String>) -> String {
        let has = |is: fn(&str) -> bool| members.iter().any(|member| is(member));
        let prefix = match (has(is_bitcode), has(is_gcc_lto)) {
            (true, _) => "b",
            (_, true) => "g",
            _ => "a",
        };
        let (name, new) = self.name(&format!("a {members:?}"), prefix, ".a");
        if new {
            self.archives.push((name.clone(), members));
        }
        name
    }

    fn shared(&mut self, object: String) -> String {
        let (name, new) = self.name(&format!("s {object}"), "s", ".so");
        if new {
            self.shared.push((name.clone(), object));
        }
        name
    }

    /// The words of a link's line.
    fn line(&mut self, link: &Link) -> Vec<String> {
        let mut objects: BTreeMap<&str, String> = BTreeMap::new();
        for object in link.objects.split('|') {
            let (name, words) = object.split_once(':').expect("NAME: WORDS");
            let (name, words) = (name.trim(), words.trim());
            let file = match name.as_bytes()[0] {
                b'G' => self.gcc_lto(words),
                b'A'..=b'Z' => self.bitcode(words),
                _ => self.object(words),
            };
            objects.insert(name, file);
        }
        let spaced = link.line.replace('[', " [ ").replace(']', " ] ");
        let spaced = spaced.replace('(', " ( ").replace(')', " ) ");
        let mut out = Vec::new();
        let mut open: Option<Vec<String>> = None;
        let mut after_option = false;
        for word in spaced.split_whitespace() {
            match word {
                "[" | "(" => open = Some(Vec::new()),
                "]" => {
                    let members = open.take().expect("an open archive");
                    out.push(self.archive(members));
                }
                ")" => {
                    let object = open.take().expect("a shared object").remove(0);
                    out.push(self.shared(object));
                }
                word => match (objects.get(word).filter(|_| !after_option), &mut open) {
                    (Some(object), Some(open)) => open.push(object.clone()),
                    (Some(object), None) => out.push(object.clone()),
                    (None, _) => out.push(word.to_owned()),
                },
            }
            after_option = word == "-u";
        }
        out
    }

    /// Builds everything: two shells assemble, then archives and shared objects follow.
    fn build(&self, lab: &Lab) {
        lab.write("versions", "V0 { };\nV1 { };\n");
        let mut scripts = [String::new(), String::new()];
        for (at, (name, source)) in self.sources.iter().enumerate() {
            lab.write(&format!("{name}.s"), source);
            writeln!(scripts[at % 2], "as -o {name} {name}.s").expect("a string");
        }
        for (at, (name, source)) in self.modules.iter().enumerate() {
            lab.write(&format!("{name}.ll"), source);
            writeln!(scripts[at % 2], "llvm-as-19 -o {name} {name}.ll").expect("a string");
        }
        for (at, (name, source)) in self.units.iter().enumerate() {
            lab.write(&format!("{name}.c"), source);
            let options = gcc_lto::OPTIONS;
            writeln!(scripts[at % 2], "gcc {options} -o {name} {name}.c").expect("a string");
        }
        let shell = |script: &str| {
            let text = format!("set -e\n{script}");
            run(clean("sh").current_dir(lab.root()).args(["-c", &text]));
        };
        std::thread::scope(|scope| scripts.iter().for_each(|s| drop(scope.spawn(|| shell(s)))));
        let mut script = String::new();
        for (name, members) in &self.archives {
            let ar = match (is_bitcode(name), is_gcc_lto(name)) {
                (true, _) => "llvm-ar-19",
                (_, true) => "gcc-ar",
                _ => "ar",
            };
            writeln!(script, "{ar} rc {name} {}", members.join(" ")).expect("a string");
        }
        for (name, object) in &self.shared {
            let options = "-shared --version-script=versions";
            writeln!(script, "ld {options} -o {name} {object}").expect("a string");
        }
        shell(&script);
    }
}

/// The result of a link by a linker or linkaudit: members, and undefined names.
type Answer = (BTreeSet<String>, BTreeSet<String>);

fn kind(line: &[String]) -> (Vec<&str>, &str) {
    let is_kind = |word: &&String| ["pie", "exe"].contains(&word.as_str());
    let kind = line.iter().find(is_kind).map_or("shared", |word| word);
    (line.iter().filter(|word| !is_kind(word)).map(String::as_str).collect(), kind)
}

/// The answer of a linker; `None` if it crashed.
fn theirs(lab: &Lab, program: &str, line: &[String], map: &str) -> Option<Answer> {
    let (words, kind) = kind(line);
    if line.iter().any(|word| is_gcc_lto(word)) {
        return gcc_lto::theirs(lab, program, &words);
    }
    let mut command = clean(program);
    command.current_dir(lab.root()).args(["-o", "/dev/null", "-z", "defs", "--noinhibit-exec"]);
    command.args(["--allow-multiple-definition", "--version-script=versions"]);
    match kind {
        "shared" => command.arg("-shared"),
        "pie" => command.args(["-pie", "--allow-shlib-undefined"]),
        _ => command.arg("--allow-shlib-undefined"),
    };
    match program {
        "ld" if line.iter().any(|word| is_bitcode(word)) => {
            command.args(["-t", "-t", "-plugin", PLUGIN])
        }
        "ld" => command.args(["-t", "-t"]),
        "mold" => command.arg(format!("-Map={map}")),
        _ => command.args(["--trace", "--error-limit=0"]),
    };
    let output = command.args(words.iter()).output().expect("a linker runs");
    // mold 1.10 crashes on some programs with a version script, and on some --defsym.
    if output.status.code().is_none() || output.status.code() == Some(139) {
        return None;
    }
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    let undefined = messages.lines().filter_map(undefined_name).collect();
    if program == "mold" {
        text = std::fs::read_to_string(lab.path(map)).unwrap_or(text);
    }
    let files: BTreeSet<String> = text.split_whitespace().filter_map(member).collect();
    Some((without_objects(files, &words), undefined))
}

/// Removes objects that are not members: those outside of --start-lib.
fn without_objects(mut files: BTreeSet<String>, words: &[&str]) -> BTreeSet<String> {
    let mut inside = false;
    for word in words {
        inside = *word == "--start-lib" || inside && *word != "--end-lib";
        if !inside {
            files.remove(*word);
        }
    }
    files
}

/// A member or object as `ARCHIVE(MEMBER)` or `OBJECT`, if a word of a trace or map is one.
fn member(word: &str) -> Option<String> {
    let word = match word.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((archive, member)) => format!("{archive}({member})"),
        None => word.split_once(":(").map_or(word, |(file, _)| file).to_owned(),
    };
    let is_one = word.ends_with(".o") || word.ends_with(".o)");
    let plain = word.chars().all(|c| c.is_alphanumeric() || "._()".contains(c));
    (is_one && plain && !word.starts_with('(')).then_some(word)
}

pub(super) fn undefined_name(line: &str) -> Option<String> {
    let lld = line.split_once("symbol: ").filter(|_| line.contains("undefined"));
    let lld = lld.or(line.split_once("symbol in a discarded section: "));
    let option = line.split_once("symbol not found: ");
    let gnu = line.split_once("undefined reference to `");
    let gnu_option = line.split_once("undefined symbol `");
    let hidden = line.split_once(" symbol `").filter(|_| line.contains("isn't defined"));
    let (_, name) = lld.or(option).or(gnu).or(gnu_option).or(hidden)?;
    name.trim().split(['\'', ' ']).next().map(str::to_owned)
}

/// The answer of linkaudit.
fn ours(lab: &Lab, linker: &str, line: &[String]) -> Answer {
    let (words, kind) = kind(line);
    let mut args = vec!["--linker", linker];
    args.extend(match kind {
        "shared" => Some("--shared"),
        "pie" => Some("--pie"),
        _ => None,
    });
    args.push("--allow-shlib-undefined");
    args.extend(words);
    let (answer, _) = archive(&lab.root(), &args);
    let members = super::kit::members(&answer).into_iter();
    // An object of --start-lib is its own archive.
    let plain = |name: String| match name.split_once('(') {
        Some((file, _)) if file.ends_with(".o") => file.to_owned(),
        _ => name,
    };
    // If only LTO objects refer to a name, LTO may drop the references; here it keeps them.
    let is_lto = line.iter().any(|word| is_bitcode(word) || is_gcc_lto(word));
    let lists = ["undefined", "unknown"].into_iter().take(if is_lto { 2 } else { 1 });
    let names = lists.flat_map(|key| answer[key].as_array().expect("names"));
    let names = names.map(|entry: &Value| entry["symbol"].as_str().expect("a symbol").to_owned());
    (members.map(plain).collect(), names.collect())
}

/// Makes all links with all linkers; returns the number of comparisons and the differences.
fn compare(links: &[Link]) -> (usize, Vec<String>) {
    let lab = Lab::new();
    let mut files = Files::default();
    let lines: Vec<Vec<String>> = links.iter().map(|link| files.line(link)).collect();
    files.build(&lab);
    for (program, _) in LINKERS.iter().filter(|(program, _)| !has_linker(program)) {
        skip("links", &format!("there is no {program}"));
    }
    let one = |at: usize| -> (usize, Vec<String>) {
        let (link, line) = (&links[at], &lines[at]);
        let (mut cases, mut wrong) = (0, Vec::new());
        for (program, linker) in LINKERS {
            let lazy = line.iter().any(|word| word == "--start-lib");
            if !has_linker(program) || link.except.contains(linker) || *linker == "gnu" && lazy {
                continue;
            }
            let Some(mut theirs) = theirs(&lab, program, line, &format!("map{at}")) else {
                continue;
            };
            cases += 1;
            let mut ours = ours(&lab, linker, line);
            if *program == "mold" {
                // It names undefined symbols without their versions.
                ours.1 = ours
                    .1
                    .iter()
                    .map(|name| name.split('@').next().unwrap_or(name).to_owned())
                    .collect();
            }
            if *program == "ld.lld-19" {
                // lld names a symbol with the default version that any file has, needed or not.
                let plain = |name: &String| name.split("@@").next().unwrap_or(name).to_owned();
                theirs.1 = theirs.1.iter().map(plain).collect();
                ours.1 = ours.1.iter().map(plain).collect();
            }
            if ours != theirs {
                let Link { objects, line: text, .. } = link;
                wrong.push(format!(
                    "{objects} / {text}\n    {line:?}\n    {linker:5} {theirs:?}\n    ours  {ours:?}"
                ));
            }
        }
        (cases, wrong)
    };
    let half = |first: usize| (first..links.len()).step_by(2).map(one).collect::<Vec<_>>();
    let done = std::thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        let mut done = half(0);
        done.extend(other.join().expect("a thread"));
        done
    });
    if let Some(dir) = std::env::var_os("LINKAUDIT_KEEP") {
        run(clean("cp").arg("-r").arg(lab.root()).arg(PathBuf::from(dir)));
    }
    let cases = done.iter().map(|(cases, _)| cases).sum();
    (cases, done.into_iter().flat_map(|(_, wrong)| wrong).collect())
}

/// References of debug sections and of discarded copies to names of `--wrap`.
#[test]
fn wrapped_names_of_sections_that_do_not_count() {
    const CASES: &[&str] = &[
        ".section .debug_x\n.quad u\n",
        ".section .debug_x\n.quad __wrap_u\n",
        ".section .debug_x\n.quad __real_u\n",
        ".data\n.quad u\n.section .debug_x\n.quad __real_u\n",
        ".data\n.quad __real_u\n.section .debug_x\n.quad u\n",
        ".section .text.g,\"axG\",@progbits,g,comdat\n.weak g\ng: .quad u\n",
        ".section .text.g,\"axG\",@progbits,g,comdat\n.weak g\ng: .quad __real_u\n",
    ];
    let lab = Lab::new();
    let group = ".section .text.g,\"axG\",@progbits,g,comdat\n.weak g\ng: nop\n";
    let begin = ".globl _start\n_start: nop\n";
    lab.write("versions", "V0 { };\n");
    object(&lab, "first.o", &format!("{begin}{group}"));
    for case in CASES {
        object(&lab, "case.o", case);
        // GNU ld 2.40 crashes if only debug sections refer to the name.
        let compared = agree(&lab, "pie --wrap=u first.o case.o", case);
        assert!(compared > 0, "no linker is left for {case}");
    }
}

/// Only a discarded copy of a COMDAT group has `aa`, next to the weak `foo` of all copies: lld
/// accepts only a weak reference to `aa`.
#[test]
fn strong_names_of_discarded_copies() {
    let lab = Lab::new();
    lab.write("versions", "V0 { };\n");
    let group = ".section .text.foo,\"axG\",@progbits,foo,comdat\n.weak foo\nfoo: ret\n";
    object(&lab, "m.o", ".globl _start\n_start: call aa@PLT\n call x@PLT\n");
    object(&lab, "oa.o", &format!(".globl x\nx: ret\n{group}"));
    object(&lab, "ob.o", &format!("{group}.globl aa\naa: ret\n"));
    object(&lab, "ow.o", &format!("{group}.weak aa\naa: ret\n"));
    object(&lab, "od.o", ".globl aa\naa: ret\n");
    for name in ["oa", "ob", "ow", "od"] {
        ar(&lab, "rc", &format!("{name}.a"), &[&format!("{name}.o")]);
    }
    for text in [
        "m.o oa.o ob.o",
        "m.o ob.o oa.o",
        "m.o oa.o ob.a",
        "m.o oa.a ob.a",
        "m.o ob.a oa.o",
        "m.o ob.a oa.a",
        "m.o oa.o ow.o",
        "m.o oa.a ow.a",
        "m.o oa.a od.a ob.a",
    ] {
        let compared = agree(&lab, &format!("exe {text}"), text);
        assert!(compared > 0, "no linker is left for {text}");
    }
}

/// GNU ld keeps the first section with a name that begins with `.gnu.linkonce`.
#[test]
fn sections_that_are_linked_once() {
    let lab = Lab::new();
    lab.write("versions", "V0 { };\n");
    let of_section = |section: &str, name: &str, code: &str| {
        let section = format!(".section {section},\"ax\",@progbits\n.weak f\n");
        object(&lab, &format!("{name}.o"), &format!("{section}f: {code}\n.globl {name}_x\n"));
        ar(&lab, "rc", &format!("{name}.a"), &[&format!("{name}.o")]);
    };
    object(&lab, "m.o", ".globl _start\n_start: call f@PLT\n");
    let copy = |name: &str, code: &str| of_section(".gnu.linkonce.t.f", name, code);
    of_section(".gnu.linkonce_f", "n1", "ret\n.text\nn1_x: ret");
    of_section(".gnu.linkonce_f", "n2", "call nosuch@PLT\n.text\nn2_x: ret");
    copy("o1", "ret\n.text\no1_x: ret");
    copy("o2", "call nosuch@PLT\n.text\no2_x: ret");
    for text in [
        "m.o o1.o o2.o",
        "m.o o2.o o1.o",
        "m.o -u o1_x -u o2_x o1.a o2.a",
        "m.o -u o1_x -u o2_x o2.a o1.a",
        "m.o n1.o n2.o",
        "m.o n2.o n1.o",
    ] {
        let compared = agree(&lab, &format!("exe {text}"), text);
        assert!(compared > 0, "no linker is left for {text}");
    }
}

/// The second copy of a COMDAT function has an exception table and a personality routine. GNU ld
/// drops an unwind table only if it discards all its functions. mold reports no reference of a
/// table.
#[test]
fn unwind_tables_of_discarded_copies() {
    let lab = Lab::new();
    lab.write("versions", "V0 { };\n");
    let copy = |table: &str| {
        format!(
            ".section .text.f,\"axG\",@progbits,f,comdat\n.weak f\nf:\n.cfi_startproc\n{table}\
             nop\n.cfi_endproc\n"
        )
    };
    object(&lab, "a.o", &format!(".globl _start\n_start: nop\n{}", copy("")));
    let routine = ".cfi_personality 3, none\n";
    let with_table = format!("{routine}.cfi_lsda 3, .Ltable\n");
    let table = ".section .gcc_except_table,\"a\"\n.Ltable: .long 0\n";
    let other = ".text\n.cfi_startproc\nnop\n.cfi_endproc\n";
    for (name, source) in [
        ("b", copy(routine)),
        ("c", format!("{}{table}", copy(&with_table))),
        ("d", format!("{other}{}", copy(routine))),
        ("e", format!("{}{other}{table}", copy(&with_table))),
    ] {
        object(&lab, &format!("{name}.o"), &format!("{source}.globl {name}\n{name} = 1\n"));
        ar(&lab, "rc", &format!("{name}.a"), &[&format!("{name}.o")]);
    }
    for name in ["b", "c", "d", "e"] {
        for text in
            [format!("a.o {name}.o"), format!("{name}.o a.o"), format!("a.o -u {name} {name}.a")]
        {
            let compared = agree(&lab, &format!("exe {text}"), &text);
            assert!(compared > 0, "no linker is left for {text}");
        }
    }
}

/// Compares the undefined names of a link with those of all installed linkers. Returns the number
/// of linkers that did not crash.
fn agree(lab: &Lab, line: &str, what: &str) -> usize {
    let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let mut compared = 0;
    for (program, linker) in LINKERS.iter().filter(|(program, _)| has_linker(program)) {
        let Some((_, theirs)) = theirs(lab, program, &line, "map") else { continue };
        let (_, ours) = ours(lab, linker, &line);
        assert_eq!(ours, theirs, "{linker}: {what}");
        compared += 1;
    }
    compared
}
