//! Measures what the two binding queries add to an audit of all ELF programs and shared objects of
//! /usr.
//!
//! usage: cargo bench --bench binding_queries [-- ROUNDS]     5 rounds by default
//!
//! Each figure is that of a separate process. The four kinds of runs alternate, and a ratio is one
//! of two figures of the same round. `TREE=DIR` measures another tree than /usr, `LIST=FILE` the
//! files that FILE names. Redirect the output to benches/results/DATE-binding-queries.txt.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a measurement reads, starts itself and prints"
)]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use linkaudit::audit;
use linkaudit::id::Id as _;
use linkaudit::plan::{Cpu, Plan};
use linkaudit::tree::DiskTree;
use linkaudit::wants::Wants;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The kinds of runs that are measured: a name and the wants of the plan.
const WAYS: [(&str, Wants); 4] = [
    ("audit", Wants::NONE),
    ("with duplicate definitions", Wants::DUPLICATE_DEFINITIONS),
    ("with bound libraries", Wants::BOUND_LIBRARIES),
    ("with both", Wants::DUPLICATE_DEFINITIONS.and(Wants::BOUND_LIBRARIES)),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match &words[..] {
        [word, way, list] if word == "--child" => child(way.parse().expect("a way"), list),
        [] => parent(5),
        [rounds, ..] => parent(rounds.parse().expect("a number of rounds")),
    }
}

/// Runs one audit. Prints its processor time in nanoseconds, the time of the stage, and counts.
fn child(way: usize, list: &str) {
    let (_, rule_wants) = WAYS[way];
    let list = std::fs::read_to_string(list).expect("a list");
    let listed: Vec<PathBuf> = list.lines().map(Into::into).collect();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().expect("threads");
    let cwd = std::env::current_dir().expect("a directory");
    let plan = Plan {
        listed: listed.into(),
        rule_wants,
        threads,
        cpu: Cpu::host(false),
        ..Plan::new(Vec::new(), cwd)
    };
    let tree = DiskTree::new();
    let input = audit::read(&plan, &tree, &AtomicUsize::new(0));
    let audit = audit::audit(&plan, &tree, audit::collect(&plan, &tree, input));
    let time: u64 = std::fs::read_dir("/proc/self/task")
        .expect("threads")
        .filter_map(Result::ok)
        .filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok())
        .filter_map(|text| text.split(' ').next()?.parse::<u64>().ok())
        .sum();
    let (mut names, mut bound) = (0, 0);
    for root in audit.closures.roots.ids() {
        names += audit.duplicate_definitions(root).len();
        bound += audit.bound_libraries(root).len();
    }
    let query = audit.timings.iter().find(|(name, _)| *name == "binding queries");
    let query = query.map_or(0, |(_, time)| time.as_micros());
    let roots = audit.closures.roots.ids().map(|root| root.index() + 1).max().unwrap_or(0);
    println!("{time} {query} {roots} {names} {bound}");
    std::mem::forget(audit);
}

/// The figures of one kind of run, by round.
#[derive(Default)]
struct Figures {
    /// Seconds from start to end.
    wall: Vec<f64>,
    /// Seconds on a processor, of all threads.
    processor: Vec<f64>,
    /// Seconds of the stage itself.
    stage: Vec<f64>,
    counts: String,
}

fn parent(rounds: usize) {
    let tree = std::env::var("TREE").unwrap_or_else(|_| "/usr".to_owned());
    let (list, made) = match std::env::var("LIST") {
        Ok(list) => (PathBuf::from(list), false),
        Err(_) => (write_list(Path::new(&tree)), true),
    };
    print_machine(&list);
    let program = std::env::current_exe().expect("this program");
    let mut all: BTreeMap<usize, Figures> = BTreeMap::new();
    for round in 0..=rounds {
        for turn in 0..WAYS.len() {
            let way = (turn + round) % WAYS.len();
            let start = Instant::now();
            let output = Command::new(&program)
                .args(["--child", &way.to_string()])
                .arg(&list)
                .output()
                .expect("this program runs");
            let wall = start.elapsed().as_secs_f64();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let (time, rest) = text.trim().split_once(' ').expect("figures");
            let (stage, counts) = rest.split_once(' ').expect("figures");
            // The first round warms the cache.
            if round > 0 {
                let figures = all.entry(way).or_default();
                figures.wall.push(wall);
                figures.processor.push(time.parse::<u64>().expect("a time") as f64 / 1e9);
                figures.stage.push(stage.parse::<u64>().expect("a time") as f64 / 1e6);
                counts.clone_into(&mut figures.counts);
            }
        }
    }
    for (way, (name, ..)) in WAYS.iter().enumerate() {
        let figures = &all[&way];
        println!("## {name}\n");
        println!("entry points, duplicate names, bound libraries: {}", figures.counts);
        for (what, list) in
            [("wall", &figures.wall), ("processor", &figures.processor), ("stage", &figures.stage)]
        {
            println!("{what:>9} s: {}  median {:.4}", show(list), median(list));
        }
        let over = |part: fn(&Figures) -> &Vec<f64>| -> Vec<f64> {
            part(figures).iter().zip(part(&all[&0])).map(|(ours, base)| ours / base).collect()
        };
        let (wall, processor) = (over(|f| &f.wall), over(|f| &f.processor));
        println!("ratio of each round to the audit, wall: {}", show(&wall));
        println!("median ratio, wall {:.3}, processor {:.3}\n", median(&wall), median(&processor));
    }
    if made {
        let _ = std::fs::remove_file(list);
    }
}

fn show(list: &[f64]) -> String {
    list.iter().map(|value| format!("{value:.4}")).collect::<Vec<_>>().join(" ")
}

fn median(list: &[f64]) -> f64 {
    let mut sorted = list.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn print_machine(list: &Path) {
    let said = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).output();
        output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned()).unwrap_or_default()
    };
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(": ")).map_or("unknown", |(_, value)| value).to_owned()
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let files = std::fs::read_to_string(list).unwrap_or_default().lines().count();
    println!(
        "# the binding queries over a list of ELF files, {}\n",
        said("date", &["-u", "+%FT%TZ"])
    );
    println!("machine: {threads} x {} ({})", field("model name"), field("vendor_id"));
    println!("kernel: {}", said("uname", &["-srm"]));
    println!("load before: {}", load.trim());
    println!("input: {files} ELF programs and shared objects; one round is not counted\n");
}

/// Writes the list of ELF files of `tree`, as benches/lists.py chooses them.
fn write_list(tree: &Path) -> PathBuf {
    let mut files = Vec::new();
    collect(tree, &mut files);
    files.sort_unstable();
    let path = std::env::temp_dir().join(format!("binding-queries-{}", std::process::id()));
    let lines: Vec<&str> = files.iter().filter_map(|file| file.to_str()).collect();
    std::fs::write(&path, lines.join("\n")).expect("a list");
    path
}

fn collect(dir: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = dir.read_dir() else { return };
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&path, out),
            Ok(kind) if kind.is_file() && is_dynamic(&path) => out.push(path),
            _ => {}
        }
    }
}

/// True for ET_EXEC and ET_DYN.
fn is_dynamic(path: &Path) -> bool {
    let mut head = [0; 20];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    let kind = if head[5] == 1 { [head[16], head[17]] } else { [head[17], head[16]] };
    read.is_ok() && head.starts_with(b"\x7fELF") && matches!(kind, [2 | 3, 0])
}
