//! Random libraries that were linked without some archives: every verified fix is linked by GNU
//! ld, lld and mold. `ldd -r` must find no undefined symbol that the fix defines, and no new one.
//! Members are hidden, protected, versioned, common, weak, thread-local, in COMDAT groups, not
//! position-independent and circular.

use super::kit::text;
use crate::archives::links::source;
use crate::support::random::{Random, amount, number};
use crate::support::{Lab, clean, has, skip, undefined};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The linkers, with the options that make them as strict as lld.
const LINKERS: &[&str] = &["ld", "ld.lld-19", "mold"];
const STRICT: &[&str] = &["-z", "text", "--version-script=versions"];

/// The ways in which a member defines a name, with their weights.
const WAYS: &[(usize, &str)] = &[
    (30, ""),
    (10, "="),
    (10, "~"),
    (6, "%"),
    (8, "^"),
    (3, "^^"),
    (3, "*"),
    (4, ".h"),
    (4, ".p"),
    (2, "@@V1"),
    (2, "@V0"),
];
const TLS_WAYS: &[(usize, &str)] = &[(3, ""), (1, "~")];

/// Code that some links do not take: `NAME` is a name, `VAR` a thread-local one, `LOCAL` a local
/// label.
const CODE: &[&str] = &[
    ".text\nmovl $LOCAL, %eax\n",
    ".text\nmovl $NAME, %eax\n",
    ".text\nmovabsq $NAME, %rax\n",
    ".text\nleaq NAME(%rip), %rax\n",
    ".text\nmovq NAME@GOTPCREL(%rip), %rax\n",
    ".text\ncall NAME@PLT\n",
    ".text\ncall NAME\n",
    ".text\njmp NAME\n",
    ".data\n.quad NAME - .\n",
    ".data\n.long NAME\n",
    ".section .rodata,\"a\"\n.quad NAME\n",
    ".section .rodata,\"a\"\n.quad LOCAL\n",
    ".text\nmovabsq $NAME@GOTOFF, %rax\n",
    ".text\nmovabsq $LOCAL@GOTOFF, %rax\n",
    ".data\n.quad NAME@SIZE\n",
    ".text\nmovl %fs:VAR@tpoff, %eax\n",
    ".text\nmovq VAR@gottpoff(%rip), %rax\n",
    ".text\nleaq VAR@tlsld(%rip), %rdi\ncall __tls_get_addr@PLT\nleaq VAR@dtpoff(%rax), %rax\n",
    ".text\nleaq VAR@tlsdesc(%rip), %rax\ncall *VAR@tlscall(%rax)\n",
    ".data\n.quad VAR\n",
    ".text\nmovq NAME@gottpoff(%rip), %rax\n",
    ".globl absOWN\nabsOWN = 5\n.text\nleaq absOWN(%rip), %rax\n",
    ".globl ifuncOWN\n.type ifuncOWN,@gnu_indirect_function\nifuncOWN: ret\n",
    ".section .debug_x,\"\"\n.long NAME\n",
];

/// One library, the archives that it was linked without, and the shell commands that build them.
struct Case {
    is_program: bool,
    /// True if the library has the search path of its needed libraries. Otherwise, only
    /// LD_LIBRARY_PATH has this path, and the audit does not know it.
    has_search_path: bool,
    /// Libraries that it was linked with.
    needed: Vec<String>,
    /// Files to build, in order, each with its text.
    sources: Vec<(String, String)>,
    script: String,
}

struct Maker {
    random: Random,
    names: Vec<String>,
    case: Case,
}

impl Maker {
    fn object(&mut self, name: &str, words: &str, code: &str) {
        self.case.sources.push((format!("{name}.s"), source(words) + code));
        writeln!(self.case.script, "as -o {name}.o {name}.s").expect("a string");
    }

    /// Words of an object: some names are defined, others are referred to.
    fn words(&mut self, (most_defined, referred): (usize, (usize, usize)), plain: bool) -> String {
        let random = &mut self.random;
        let mut words = Vec::new();
        let mut names = self.names.clone();
        random.shuffle(&mut names);
        let defined = random.between(0, most_defined);
        let referred = random.between(referred.0, referred.1);
        for name in &names[..defined] {
            let ways = if name.starts_with('t') { TLS_WAYS } else { WAYS };
            let way = random.weighted(ways);
            let way = if plain && ["%", ".h", ".p"].contains(&way) { "" } else { way };
            words.push(format!("{name}{way}"));
        }
        for name in names.iter().skip(defined).take(referred) {
            let weak = random.chance(15);
            let end = if random.chance(7) && !plain && !name.starts_with('t') { ".h" } else { "" };
            words.push(format!("{}{name}{end}", if weak { '?' } else { '!' }));
        }
        words.join(" ")
    }

    fn code(&mut self, own: usize) -> String {
        if self.random.chance(65) {
            return String::new();
        }
        let plain: Vec<String> =
            self.names.iter().filter(|n| n.starts_with('n')).cloned().collect();
        let name = self.random.pick(&plain).clone();
        let code = self.random.pick(CODE).replace("OWN", &own.to_string());
        let code = code.replace("NAME", &name).replace("VAR", "t3");
        let local = if code.contains("LOCAL") { ".data\nLOCAL: .quad 0\n" } else { "" };
        format!("{local}{code}")
    }
}

fn case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let count = random.between(4, 9);
    let names = (0..count).map(|n| format!("{}{n}", if n == 3 { 't' } else { 'n' })).collect();
    let (is_program, has_search_path) = (random.chance(20), random.chance(90));
    let script = "mkdir parts\nprintf 'V0 { };\\nV1 { };\\n' >versions\n".to_owned();
    let (needed, sources) = (Vec::new(), Vec::new());
    let case = Case { is_program, has_search_path, needed, sources, script };
    let mut maker = Maker { random, names, case };
    for at in 0..maker.random.weighted(&[(70, 0), (30, 1)]) {
        let words = maker.words((2, (0, 1)), true);
        maker.object(&format!("needed{at}"), &format!("needed{at} {words}"), "");
        let link = format!("ld -shared --version-script=versions -o needed{at}.so needed{at}.o\n");
        maker.case.script += &link;
        maker.case.needed.push(format!("needed{at}.so"));
    }
    // A linked library does not tell which of its data was common in its objects.
    let words = maker.words((2, (1, 4)), false).replace('%', "=");
    let start = if maker.case.is_program { ".text\n.globl _start\n_start: nop\n" } else { "" };
    maker.object("user", &format!("user {words}"), start);
    let mut own = 0;
    for archive in 0..maker.random.between(1, 5) {
        let mut members = Vec::new();
        for _ in 0..maker.random.between(1, 3) {
            own += 1;
            let words = maker.words((2, (0, 2)), false);
            let code = maker.code(own);
            maker.object(&format!("m{own}"), &format!("own{own} {words}"), &code);
            members.push(format!("m{own}.o"));
        }
        let members = members.join(" ");
        writeln!(maker.case.script, "ar rc parts/lib{archive}.a {members}").expect("a string");
    }
    if maker.random.chance(15) {
        let words = maker.words((2, (0, 1)), true);
        maker.object("so", &format!("so {words}"), "");
        maker.case.script += "ld -shared --version-script=versions -o parts/libso.so so.o\n";
    }
    maker.case
}

/// The options of a link of the library itself.
fn options(case: &Case) -> String {
    let kind = if case.is_program {
        "-pie -dynamic-linker /lib64/ld-linux-x86-64.so.2"
    } else {
        "-shared"
    };
    let search_path = if case.has_search_path { "-rpath='$ORIGIN'" } else { "" };
    format!("{kind} {search_path} {}", STRICT.join(" "))
}

/// Undefined symbols of a file itself according to `ldd -r`, which finds the needed libraries. mold
/// 1.10 gives some of them a version of the file.
fn undefined_symbols(lab: &Lab, file: &str) -> BTreeSet<String> {
    let output = lab.sh(&format!("LD_LIBRARY_PATH=. ldd -r ./{file} 2>&1 || true"));
    let printed = text(&output.stdout);
    let of_file = format!("(./{file})");
    let own: Vec<&str> = printed.lines().filter(|line| line.ends_with(&of_file)).collect();
    let version = format!(", version {file}");
    let names = undefined(&own.join("\n")).into_iter();
    names.map(|name| name.trim_end_matches(&version).to_owned()).collect()
}

/// The names that a command of `nm -P` prints, without versions.
fn names(lab: &Lab, nm: &str) -> BTreeSet<String> {
    let printed = text(&lab.sh(nm).stdout);
    let names = printed.lines().filter_map(|line| line.split([' ', '@']).next());
    names.map(str::to_owned).collect()
}

/// Names that a needed library defines for a link. A version that is not the default does not
/// satisfy one.
fn needed_names(lab: &Lab, case: &Case) -> BTreeSet<String> {
    let of = |library: &String| {
        names(lab, &format!("nm -P -D --defined-only {library} | grep -v '^[^ @]*@[^@]'"))
    };
    case.needed.iter().flat_map(of).collect()
}

/// True if the output does not tell how a new link would end. A program does not tell which
/// members its lost references would take, and no output tells that an object hid a name of a
/// needed library.
fn is_lost(case: &Case, lab: &Lab, lost: &BTreeSet<&String>, needed: &BTreeSet<String>) -> bool {
    let strong = names(lab, "nm -P -u user.o | awk '$2 == \"U\"'");
    let (_, user) = case.sources.iter().find(|(name, _)| name == "user.s").expect("a source");
    case.is_program && lost.iter().any(|name| strong.contains(*name))
        || needed.iter().any(|name| user.contains(&format!(".hidden {name}\n")))
}

/// The fixes of one library.
#[derive(Default)]
struct Fixes {
    /// Undefined symbols whose fixes are all verified, and what these link.
    verified: BTreeSet<String>,
    entries: BTreeSet<String>,
    /// The other symbols that have a fix.
    doubtful: BTreeSet<String>,
}

fn fixes(lab: &Lab) -> Fixes {
    let args = ["fix", "user.so", "--lib-path", "parts", "--format", "json"];
    let run =
        lab.linkaudit(&[&args[..], &["--emit", "link-line", "-o", "link-line=line"]].concat());
    let report: Value = serde_json::from_slice(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&run.stderr)));
    let mut out = Fixes::default();
    for finding in report["findings"].as_array().expect("findings") {
        let fixes = finding["fix"].as_array().expect("fixes");
        if finding["rule"] != "undefined-symbol" || fixes.is_empty() {
            continue;
        }
        let symbol = finding["symbol"].as_str().expect("a symbol").to_owned();
        // The fixes of a needed library are for the link of that library.
        let is_own = finding["path"].as_str().is_some_and(|path| path.ends_with("user.so"));
        if is_own && fixes.iter().all(|fix| fix["proven"] == true) {
            out.verified.insert(symbol);
            let entries = fixes.iter().map(|fix| fix["entry"].as_str().expect("an entry"));
            out.entries.extend(entries.map(str::to_owned));
        } else {
            out.doubtful.insert(symbol);
        }
    }
    out
}

#[derive(Default)]
struct Counts {
    libraries: usize,
    verified: usize,
    doubtful: usize,
    links: usize,
    /// Links in which the linker has a known fault.
    faults: usize,
    wrong: Vec<String>,
}

/// Links one library with its verified fixes.
fn check(seed: u64, counts: &mut Counts) {
    let case = case(seed);
    let lab = Lab::new();
    for (name, text) in &case.sources {
        lab.write(name, text);
    }
    // No assembler takes some objects.
    if !lab.sh(&case.script).status.success() {
        return;
    }
    let options = options(&case);
    let needed = case.needed.join(" ");
    let bad = format!("ld {options} --unresolved-symbols=ignore-all -o user.so user.o {needed}");
    // Some objects fit into no library at all.
    if !lab.sh(&bad).status.success() {
        return;
    }
    let before = undefined_symbols(&lab, "user.so");
    // A linker that leaves names undefined does not write all of them: no hidden ones, and for
    // programs only those that a needed library refers to.
    let defined = needed_names(&lab, &case);
    let open: BTreeSet<String> = &names(&lab, "nm -P -u user.o") - &defined;
    if is_lost(&case, &lab, &open.difference(&before).collect(), &defined) {
        return;
    }
    let fixes = fixes(&lab);
    counts.libraries += 1;
    counts.verified += fixes.verified.len();
    counts.doubtful += fixes.doubtful.len();
    if fixes.verified.is_empty() {
        return;
    }
    let left = before.union(&open).filter(|name| !fixes.verified.contains(*name));
    let left: BTreeSet<String> = left.cloned().collect();
    let line = std::fs::read_to_string(lab.path("line")).expect("a line");
    // The line has all fixes, in an order that each linker takes. A group of some keeps that order.
    let added = if fixes.doubtful.is_empty() {
        line.replace("-Wl,", "").replace('\n', " ")
    } else {
        let mut words: Vec<&str> = fixes.entries.iter().map(String::as_str).collect();
        words.sort_by_key(|word| line.find(word));
        format!("--start-group {} --end-group", words.join(" "))
    };
    let strict = if left.is_empty() { "-z defs" } else { "--unresolved-symbols=ignore-all" };
    for linker in LINKERS {
        let link = format!("{linker} {options} {strict} -o new.so user.o {added} {needed}");
        let mut run = clean("sh");
        let output = run.current_dir(lab.root()).args(["-ec", &link]).output().expect("sh runs");
        let error = text(&output.stderr);
        // mold 1.10 crashes on some programs with a version script. lld 19 reports a weak
        // reference to a name if the only definition has a default version and is in a member
        // that lld does not take.
        let is_crash = output.status.code() == Some(139) || error.contains("signal");
        let mut lines = error.lines().filter(|line| line.contains("error: "));
        let is_weak = |name: &str| {
            let weak = format!(".weak {name}\n");
            case.sources.iter().any(|(_, text)| text.contains(&weak))
        };
        let is_version = |line: &str| {
            let name = line.split_once("undefined symbol: ").and_then(|(_, n)| n.split_once("@@"));
            name.is_some_and(|(name, _)| is_weak(name))
        };
        let has_error = error.contains("error: ");
        if *linker == "mold" && is_crash
            || *linker == "ld.lld-19" && has_error && lines.all(is_version)
        {
            counts.faults += 1;
            continue;
        }
        counts.links += 1;
        let after = output.status.success().then(|| undefined_symbols(&lab, "new.so"));
        if after.as_ref().is_none_or(|after| !after.is_subset(&left)) {
            let sources: Vec<String> =
                case.sources.iter().map(|(name, text)| format!("{name}:\n{text}")).collect();
            counts.wrong.push(format!(
                "seed {seed}: {link}\nverified {:?}, undefined before {before:?}, after {after:?}\n\
                 {error}\n{}\n{}",
                fixes.verified,
                case.script,
                sources.join("")
            ));
        }
    }
}

#[test]
fn verified_fixes_of_random_libraries_link() {
    if let Some(linker) = LINKERS.iter().find(|linker| !has(linker)) {
        let why = format!("{linker} is not installed");
        return skip("verified_fixes_of_random_libraries_link", &why);
    }
    // Libraries are made until so many fixes are verified.
    let wanted = amount("LINKAUDIT_FIXES", 30) as usize;
    let seed = number("LINKAUDIT_SEED", 31_000);
    let half = |first: u64| {
        let mut counts = Counts::default();
        for seed in (first..).step_by(2) {
            if counts.verified >= wanted.div_ceil(2) || counts.wrong.len() > 20 {
                break;
            }
            check(seed, &mut counts);
        }
        counts
    };
    let (mut counts, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| half(seed + 1));
        (half(seed), other.join().expect("a thread"))
    });
    counts.libraries += other.libraries;
    counts.verified += other.verified;
    counts.doubtful += other.doubtful;
    counts.links += other.links;
    counts.faults += other.faults;
    counts.wrong.extend(other.wrong);
    let Counts { libraries, verified, doubtful, links, faults, wrong } = counts;
    println!(
        "verified fixes: {libraries} libraries, {verified} verified fixes, {doubtful} others, {links} links, \
         {faults} known faults of a linker, {} exceptions",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A library that only another fix links defines a name to which a member of the same archive
/// refers.
#[test]
fn libraries_of_other_fixes_do_not_count() {
    if LINKERS.iter().any(|linker| !has(linker)) {
        return skip("libraries_of_other_fixes_do_not_count", "a linker is not installed");
    }
    let mut counts = Counts::default();
    check(42_000_969, &mut counts);
    assert_eq!(counts.libraries, 1, "the case was not built");
    assert!(counts.wrong.is_empty(), "{}", counts.wrong.join("\n"));
}
