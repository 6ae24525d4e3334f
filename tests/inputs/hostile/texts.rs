//! Policies and lists of options: valid texts in unusual forms, and invalid texts. The valid ones
//! end with status 0, the invalid ones with status 2 or a finding.

use super::build::build;
use super::case::{Case, Expected, Label};
use super::random::Random;
use super::run::{self, Run, Tally};
use super::shape::{Shape, X86_64};

/// A kind of text: the option for it, a valid text, and changes that make it invalid.
struct Kind {
    name: &'static str,
    args: &'static [&'static str],
    sound: fn(&mut Random) -> Vec<u8>,
    harm: &'static [&'static [u8]],
}

/// Lines that make a valid text invalid.
const KINDS: [Kind; 4] = [
    Kind {
        name: "policy",
        args: &["p", "--policy", "text"],
        sound: policy,
        harm: &[
            b"[levels\n",
            b"unheard-of = 1\n[unheard-of]\n",
            b"[levels]\nundefined-symbol = \"loud\"\n[levels]\n",
            b"[[waive]]\nrule = \"no-such-rule\"\nreason = \"r\"\n",
            b"[[waive]]\nrule = 5\n",
            b"[[waive]]\nreason = \"of nothing\"\n",
            b"[require]\nfiles = \"no list\"\n",
            b"[provided]\nlibraries = [\"a\"\n",
            b"[[waive]]\nrule = \"undefined-symbol\"\nreason = \"\xff\xfe\"\n",
            b"\0",
            b"[[waive]]\nrule = \"undefined-symbol\"\nreason = \"r\"\nexpires = 2027-13-45\n",
            b"[forbid]\nlibraries = [{ name = \"[a\" }]\n",
            b"schema = 1\n",
            b"\"\"\"\n",
        ],
    },
    Kind {
        name: "deps list",
        args: &["fix", "p", "--emit", "cmake-deps", "--deps-list", "text"],
        sound: deps_list,
        harm: &[
            b"set(open a b\n",
            b"#[[ a comment without an end\n",
            b"set(x \"a string without an end)\n",
            b"set(x [=[ a bracket without an end ]] )\n",
            b")\n",
            b"(a b)\n",
            b"set x(a)\n",
            b"\"set\"(x a)\n",
        ],
    },
    Kind {
        name: "files-from",
        args: &["--files-from", "text"],
        sound: files,
        harm: &[b"absent-lib.so\n", b"p/absent-lib.so\n", b"/absent/lib.so\n", b"p/lib.so/below\n"],
    },
    Kind {
        name: "baseline",
        args: &["p", "--baseline", "text"],
        sound: baseline,
        harm: &[
            b"no line of a baseline\n",
            b"0123 undefined-symbol lib.so f\n",
            b"zz23456789abcdef undefined-symbol lib.so f\n",
            b"\xff\xfe\n",
            b"one\n",
            b"lp1:\n",
        ],
    },
];

/// Parts in any order, with comments and blank lines between them and one kind of line ends.
fn mixed(random: &mut Random, first: &str, mut parts: Vec<String>, comment: &str) -> Vec<u8> {
    random.shuffle(&mut parts);
    parts.truncate(random.between(1, parts.len()));
    let mut text = first.to_owned();
    for part in parts {
        if random.chance(40) {
            let filler = "\u{e9}x ".repeat(random.weighted(&[(90, 3), (10, 20_000)]));
            text.extend([comment, " ", &filler, "\n"]);
        }
        text.push_str(&"\n".repeat(random.below(3)));
        text.push_str(&part);
    }
    if random.chance(25) { text.replace('\n', "\r\n").into_bytes() } else { text.into_bytes() }
}

fn policy(random: &mut Random) -> Vec<u8> {
    let parts = [
        "[levels]\nundefined-symbol = \"warn\"\n",
        "[levels]\n'input' = 'warn'\n\"library\"=\"deny\"\n",
        "[[waive]]\nrule = \"undefined-symbol\"\nsymbol = \"\\u0066*\"\nreason = '''r\n\nr'''\n",
        "[require]\nfiles = []\n",
        "[forbid]\nlibraries = [\n  { name = \"libold.so*\" }, # old\n  { name = \"x\", reason = \"r\" },\n]\n",
        "[provided]\nlibraries = [ 'libGL.so.1' , ]\n",
        "[limits.symbol-versions]\nGLIBC = \"9.99\"\n\"A.B\" = \"0\"\n",
        "[search-path]\nallow = [\"$ORIGIN\", \"$ORIGIN/../lib\"]\n",
    ];
    let mut parts = parts.map(str::to_owned).to_vec();
    // A table may occur only once.
    parts.remove(random.below(2));
    mixed(random, "schema = 1\n", parts, "#")
}

fn deps_list(random: &mut Random) -> Vec<u8> {
    let parts = [
        "set(first_libs\nLLVMCore\nLLVMSupport\n)\n",
        "set(second_libs a b c PARENT_SCOPE)\n",
        "SET ( third_libs )\n",
        "list(APPEND first_more x)\n",
        "message(STATUS \"a (b) \\\" c\")\n",
        "if(NOT x AND (y OR z))\nendif()\n",
        "#[==[ set(no )\n]] still ]==]\n",
        "set(text [[ a ( b ]] )\n",
    ];
    mixed(random, "", parts.map(str::to_owned).to_vec(), "#")
}

fn files(random: &mut Random) -> Vec<u8> {
    let parts = ["p/lib.so", "./p/lib.so", "p//lib.so", "p", "p/../p/lib.so", "./", "p/."];
    let mut lines: Vec<String> =
        (0..random.between(1, 40)).map(|_| format!("{}\n", random.pick(&parts))).collect();
    if let Some(last) = lines.last_mut().filter(|_| random.chance(30)) {
        last.pop();
    }
    lines.concat().into_bytes()
}

fn baseline(random: &mut Random) -> Vec<u8> {
    let parts = ["# a comment\n", "\n", "#\n", "   \n", "\t# another\n"];
    let lines = (0..random.between(0, 200)).map(|_| *random.pick(&parts));
    lines.collect::<String>().into_bytes()
}

fn text(number: usize, random: &mut Random) -> (&'static Kind, Label, Vec<u8>) {
    let kind = &KINDS[number % KINDS.len()];
    let mut bytes = (kind.sound)(random);
    if number / KINDS.len() % 3 == 2 {
        return (kind, Label::Clean, bytes);
    }
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(kind.harm[number / KINDS.len() / 3 % kind.harm.len()]);
    (kind, Label::Reported(Expected::default()), bytes)
}

/// The reason why a run has the wrong result. A message about an invalid text must have its line or
/// file.
fn wrong(kind: &Kind, label: &Label, run: &Run) -> Option<String> {
    let is_short = run.stderr.len() < 8192;
    let ended = match (label, kind.name) {
        // The list was read, but no archive belongs to it.
        (Label::Clean, "deps list") => {
            run.stderr.contains("no candidate archive") || run.stderr.contains("not a list")
        }
        (Label::Clean, _) => run.status == Some(0),
        (Label::Reported(_), "deps list") => {
            let told = run.stderr.split("text:").nth(1);
            let line = told.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            run.status == Some(2) && line
        }
        // A name in a list without a file is a finding.
        (Label::Reported(_), "files-from") => {
            let told = String::from_utf8_lossy(&run.stdout).contains("unreadable");
            run.status == Some(3) && told
        }
        (Label::Reported(_), _) => run.status == Some(2) && run.stderr.contains("text"),
    };
    (!(ended && is_short)).then(|| format!("status {:?}: {:.300}", run.status, run.stderr))
}

/// Runs the cases of these numbers.
pub fn run(numbers: std::ops::Range<usize>, random: fn(usize) -> Random) -> Tally {
    let lab = crate::support::scratch::tempdir().expect("a directory");
    let dir = lab.path().canonicalize().expect("a directory");
    std::fs::create_dir(dir.join("p")).expect("a directory");
    let library = build(&Shape::library(X86_64, "lib.so")).bytes;
    std::fs::write(dir.join("p/lib.so"), library).expect("a file");
    let mut tally = Tally::default();
    for number in numbers {
        let (kind, label, bytes) = text(number, &mut random(number));
        std::fs::write(dir.join("text"), &bytes).expect("a file");
        let run = run::run(&dir, kind.args);
        let place = format!("text {number}");
        tally.bound(&place, &run);
        let wrong = wrong(kind, &label, &run);
        let wrong = wrong.map(|wrong| {
            format!(
                "{wrong}\n{:.600}",
                String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(90)..])
            )
        });
        let case = Case { operation: kind.name, label, files: Vec::new() };
        tally.judge(&case, &place, wrong);
    }
    tally
}
