//! Random graphs of archives: members that define and refer to a few names in every possible way,
//! in archives of every kind. With `--order` both tables must equal lld 19's byte by byte, and lld
//! 14 must extract the same members. If every name has one strong definition, GNU ld with a group
//! must agree with the order-independent answer.

use super::kit::{ar, archive, extracted, included, members, object, run};
use super::random::{Random, seeds};
use crate::support::{Lab, clean, has, skip};

/// How a member defines or refers to a name.
#[derive(Clone, Copy)]
enum Way {
    Function,
    Data,
    Hidden,
    Protected,
    Weak,
    Comdat,
    StrongComdat,
    Unique,
    Common,
    DefaultVersion,
    OldVersion,
}

const WAYS: &[(usize, Way)] = &[
    (20, Way::Function),
    (10, Way::Data),
    (4, Way::Hidden),
    (3, Way::Protected),
    (12, Way::Weak),
    (10, Way::Comdat),
    (3, Way::StrongComdat),
    (3, Way::Unique),
    (10, Way::Common),
    (3, Way::DefaultVersion),
    (3, Way::OldVersion),
];

fn define(name: &str, way: Way) -> String {
    match way {
        Way::Function => format!(".text\n.globl {name}\n.type {name},@function\n{name}: nop\n"),
        Way::Data => format!(".data\n.globl {name}\n.type {name},@object\n{name}: .quad 0\n"),
        Way::Hidden => format!(".data\n.globl {name}\n.hidden {name}\n{name}: .quad 0\n"),
        Way::Protected => format!(".data\n.globl {name}\n.protected {name}\n{name}: .quad 0\n"),
        Way::Weak => format!(".text\n.weak {name}\n{name}: nop\n"),
        Way::Comdat => {
            format!(
                ".section .text.{name},\"axG\",@progbits,{name},comdat\n.weak {name}\n{name}: nop\n"
            )
        }
        Way::StrongComdat => {
            format!(
                ".section .text.{name},\"axG\",@progbits,{name},comdat\n.globl {name}\n{name}: nop\n"
            )
        }
        Way::Unique => {
            format!(".data\n.globl {name}\n.type {name},@gnu_unique_object\n{name}: .quad 0\n")
        }
        Way::Common => format!(".comm {name},8,8\n"),
        Way::DefaultVersion => {
            format!(
                ".text\n.globl {name}_new\n{name}_new: nop\n.symver {name}_new,{name}@@V1,remove\n"
            )
        }
        Way::OldVersion => {
            format!(
                ".text\n.globl {name}_old\n{name}_old: nop\n.symver {name}_old,{name}@V0,remove\n"
            )
        }
    }
}

/// True if a source mentions a name: an assembler accepts only one definition, and no weak common
/// symbol.
fn mentions(source: &str, name: &str) -> bool {
    let word = |b: Option<char>| b.is_some_and(|c| c.is_ascii_digit());
    source.match_indices(name).any(|(at, _)| !word(source[at + name.len()..].chars().next()))
}

/// One graph: its laboratory, and the root objects and archives in link order.
struct Graph {
    lab: Lab,
    roots: Vec<String>,
    archives: Vec<String>,
    asked: Option<String>,
}

impl Graph {
    fn new(seed: u64, plain: bool) -> Self {
        let mut random = Random::new(seed);
        let lab = Lab::new();
        let names: Vec<String> = (0..random.between(4, 14)).map(|n| format!("n{n}")).collect();
        let member_count = random.between(3, 12);
        let mut sources = vec![String::new(); member_count];
        for name in &names {
            if plain {
                let way = if random.chance(70) { Way::Function } else { Way::Data };
                sources[random.below(member_count)] += &define(name, way);
                continue;
            }
            // Nothing defines some names, several members others.
            for _ in 0..random.weighted(&[(1, 0), (6, 1), (4, 2), (2, 3)]) {
                let way = random.weighted(WAYS);
                let member = random.below(member_count);
                // An assembler takes one definition of a name.
                if !mentions(&sources[member], name) {
                    sources[member] += &define(name, way);
                }
            }
        }
        let refer = |random: &mut Random, source: &mut String| {
            for _ in 0..random.between(0, 3) {
                let name = random.pick(&names);
                if random.chance(15) && !mentions(source, name) {
                    *source += &format!(".data\n.weak {name}\n.quad {name}\n");
                } else if !plain && random.chance(5) && !source.contains(&format!("{name}@")) {
                    *source += &format!(".data\n.symver {name}_ref,{name}@V0\n.quad {name}_ref\n");
                } else {
                    *source += &format!(".data\n.quad {name}\n");
                }
            }
        };
        let mut files = Vec::new();
        for (at, source) in sources.iter_mut().enumerate() {
            refer(&mut random, source);
            // Names repeat, and some need the table of long names.
            let file = match random.below(3) {
                0 => format!("d{at}/same.o"),
                1 => format!("d{at}/a_member_with_a_long_name_{at}.o"),
                _ => format!("d{at}/m{at}.o"),
            };
            lab.mkdir(&format!("d{at}"));
            object(&lab, &file, source);
            files.push(file);
        }
        let mut roots = Vec::new();
        for at in 0..random.between(1, 2) {
            let mut source = String::new();
            while source.is_empty() {
                refer(&mut random, &mut source);
            }
            if !plain && random.chance(50) {
                let name = random.pick(&names);
                let way = random.weighted(&[(3, Way::Common), (2, Way::Weak), (1, Way::Function)]);
                if !mentions(&source, name) {
                    source += &define(name, way);
                }
            }
            object(&lab, &format!("root{at}.o"), &source);
            roots.push(format!("root{at}.o"));
        }
        random.shuffle(&mut files);
        let mut archives = Vec::new();
        while !files.is_empty() {
            let take = random.between(1, 4).min(files.len());
            let taken: Vec<String> = files.drain(..take).collect();
            let name = format!("lib{}.a", archives.len());
            let letters = if plain { "qc" } else { *random.pick(&["qc", "qcS", "qcT", "qcs"]) };
            ar(&lab, letters, &name, &taken.iter().map(String::as_str).collect::<Vec<_>>());
            archives.push(name);
        }
        random.shuffle(&mut archives);
        let asked = (!plain && random.chance(20)).then(|| random.pick(&names).clone());
        lab.write("versions", "V0 { };\nV1 { };\n");
        Self { lab, roots, archives, asked }
    }

    fn texts(list: &[String]) -> Vec<&str> {
        list.iter().map(String::as_str).collect()
    }

    /// The tables that lld writes: the reasons and the counts.
    fn lld(&self, program: &str) -> (String, String) {
        let mut command = clean(program);
        command.current_dir(self.lab.root()).args(["-shared", "-o", "/dev/null"]).args([
            "--no-demangle",
            "--allow-multiple-definition",
            "--unresolved-symbols=ignore-all",
            "--noinhibit-exec",
            "--version-script=versions",
            "--why-extract=why.lld",
            "--print-archive-stats=stats.lld",
        ]);
        command.args(self.asked.iter().flat_map(|name| ["-u", name]));
        command.args(&self.roots).args(&self.archives);
        let output = command.output().expect("lld runs");
        let read = |name| std::fs::read_to_string(self.lab.path(name));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let why = read("why.lld").expect(&error);
        (why, read("stats.lld").expect(&error))
    }

    /// The tables that linkaudit writes for the same link, and its answer.
    fn ours(&self, order: bool) -> (String, String, serde_json::Value) {
        let (first, rest) = self.archives.split_at(1);
        let mut args = Self::texts(first);
        args.extend(self.roots.iter().flat_map(|root| ["--root-object", root]));
        args.extend(self.asked.iter().flat_map(|name| ["--root-symbol", name]));
        if !order {
            args.extend(rest.iter().flat_map(|archive| ["--from", archive]));
            return (String::new(), String::new(), archive(&self.lab.root(), &args).0);
        }
        let tables = ["--why-extract", "why.us", "--archive-stats", "stats.us"];
        if rest.is_empty() {
            args.push(&first[0]);
        } else {
            args.push("--order");
            args.extend(Self::texts(rest));
        }
        args.extend(tables);
        let answer = archive(&self.lab.root(), &args).0;
        let read = |name| std::fs::read_to_string(self.lab.path(name)).expect("a table");
        (read("why.us"), read("stats.us"), answer)
    }
}

fn graphs() -> std::ops::Range<u64> {
    seeds("LINKAUDIT_ARCHIVES", 60)
}

#[test]
fn order_is_lld_s_to_the_byte() {
    if !has("ld.lld-19") {
        return skip("order_is_lld_s_to_the_byte", "there is no ld.lld-19");
    }
    let (mut wrong, mut taken, mut cases) = (Vec::new(), 0, 0);
    for seed in graphs() {
        let graph = Graph::new(seed, false);
        if graph.archives.len() < 2 {
            continue;
        }
        let (why, stats) = graph.lld("ld.lld-19");
        let (our_why, our_stats, _) = graph.ours(true);
        cases += 1;
        taken += why.lines().skip(1).count();
        if (&why, &stats) != (&our_why, &our_stats) {
            if let Some(dir) = std::env::var_os("LINKAUDIT_KEEP") {
                let to = std::path::Path::new(&dir).join(seed.to_string());
                run(clean("cp").arg("-r").arg(graph.lab.root()).arg(to));
            }
            wrong.push(format!(
                "seed {seed}\n--- lld\n{why}{stats}--- linkaudit\n{our_why}{our_stats}"
            ));
        }
    }
    println!("lld 19, both tables: {cases} graphs, {taken} members, {} differences", wrong.len());
    assert!(cases > 0 && taken > cases, "the graphs are too small");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn one_strong_definition_each_and_all_agree() {
    let (mut wrong, mut taken, mut cases) = (Vec::new(), 0, 0);
    for seed in graphs().map(|seed| 1000 + seed).step_by(2) {
        let graph = Graph::new(seed, true);
        let (_, _, answer) = graph.ours(false);
        let ours = members(&answer);
        let mut gnu = clean("ld");
        gnu.current_dir(graph.lab.root()).args(["-shared", "-o", "out.so", "-Map=map"]);
        gnu.arg("--unresolved-symbols=ignore-all").args(&graph.roots).arg("--start-group");
        run(gnu.args(&graph.archives).arg("--end-group"));
        let map = std::fs::read_to_string(graph.lab.path("map")).expect("a map");
        let theirs = included(&map);
        cases += 1;
        taken += theirs.len();
        if ours != theirs {
            wrong.push(format!("seed {seed}: GNU ld {theirs:?}, linkaudit {ours:?}"));
        }
        if has("ld.lld") {
            let lld = extracted(&graph.lld("ld.lld").0);
            if ours != lld {
                wrong.push(format!("seed {seed}: lld {lld:?}, linkaudit {ours:?}"));
            }
        }
    }
    println!("GNU ld and lld 14: {cases} graphs, {taken} members, {} differences", wrong.len());
    assert!(taken > cases, "the graphs are too small");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
