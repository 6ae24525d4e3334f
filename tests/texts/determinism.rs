//! The same input gives the same bytes, for any number of threads, order of directory listings and
//! verbosity, and with or without reuse of standalone bindings.
//!
//! Two things vary the order: a tree is copied in another order, which changes inodes and
//! directories, and a preloaded library shuffles the results of `readdir`.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use crate::support::random;
use crate::support::report;

use std::path::{Path, PathBuf};
use std::process::Command;

use random::Random;
use report::Report;
use support::Lab;

const LIBRARIES: usize = 36;
const PROGRAMS: usize = 8;
const GRAPHS: u64 = 3;
const SHUFFLES: [&str; 4] = ["1", "2", "3", "reverse"];

/// The outputs that have names, order and counts.
const OUTPUTS: [&[&str]; 5] = [
    &["--format", "json"],
    &["--format", "json", "--facts"],
    &["--format", "human"],
    &["--format", "ldd"],
    &["--format", "ldd", "--as-ldd"],
];

/// Libraries and programs below `tree/` that need each other: some needs are missing, some symbols
/// are undefined or defined twice, some files have several names.
fn graph(lab: &Lab, seed: u64) {
    let mut random = Random::new(seed);
    let soname = |n: usize| format!("-Wl,-soname,libn{n:02}.so");
    let lib = |n: usize| format!("$PWD/tree/d{}/libn{n:02}.so", n % 4);
    let search = "-Wl,-rpath,$ORIGIN/../d0:$ORIGIN/../d1:$ORIGIN/../d2:$ORIGIN/../d3";
    let needs = |random: &mut Random, below: usize| -> Vec<usize> {
        (0..below).filter(|_| random.chance(18)).collect()
    };
    for n in 0..LIBRARIES {
        let needed = needs(&mut random, n);
        let mut source = format!("int f{n}(void){{return {n};}} int both(void){{return {n};}}\n");
        if random.chance(20) {
            source += &format!("int nowhere{n}(void); int g{n}(void){{return nowhere{n}();}}\n");
        }
        for other in &needed {
            source +=
                &format!("int f{other}(void); int h{n}_{other}(void){{return f{other}();}}\n");
        }
        let mut flags: Vec<String> = vec![soname(n), "-Wl,--no-as-needed".into()];
        flags.extend(needed.iter().map(|other| lib(*other)));
        if random.chance(70) {
            flags.push(search.into());
        }
        if random.chance(30) {
            flags.push("-Wl,--disable-new-dtags".into());
        }
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        lab.so(&format!("tree/d{}/libn{n:02}.so", n % 4), &source, &flags);
    }
    for n in 0..PROGRAMS {
        let needed = needs(&mut random, LIBRARIES);
        let mut flags: Vec<String> = vec![search.into(), "-Wl,--no-as-needed".into()];
        flags.extend(needed.iter().map(|other| lib(*other)));
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        lab.exe(
            &format!("tree/bin/prog{n}"),
            "int both(void); int main(void){return both();}",
            &flags,
        );
    }
    // Some are lost after all was linked.
    for n in [3, 17] {
        std::fs::remove_file(lab.path(&format!("tree/d{}/libn{n:02}.so", n % 4)))
            .expect("it was built");
    }
    lab.link("../d1/libn05.so", "tree/d2/libalias.so");
    lab.link("d0", "tree/linked");
    for (name, n) in [("tree/d3/libhard.so", 4), ("tree/bin/libhard.so", 4), ("tree/a.so", 9)] {
        let first = lab.path(&format!("tree/d{}/libn{n:02}.so", n % 4));
        std::fs::hard_link(first, lab.path(name)).expect("a hard link");
    }
    lab.write("tree/d0/README", "text\n");
    lab.write("tree/d0/libtext.so", "not ELF\n");
}

/// Standard output of a run that no signal ended.
fn stdout(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("linkaudit runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{command:?}: {stderr}");
    assert!(!output.stdout.is_empty());
    output.stdout
}

fn on_tree(lab: &Lab, args: &[&str]) -> Vec<u8> {
    stdout(support::linkaudit().current_dir(lab.root()).arg("check").args(args).arg("tree"))
}

/// Fails with the first line that differs: the outputs are long.
fn same(what: &str, one: &[u8], other: &[u8]) {
    if one == other {
        return;
    }
    let at = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let show = |bytes: &[u8]| {
        let part = &bytes[at.saturating_sub(200)..bytes.len().min(at + 200)];
        String::from_utf8_lossy(part).into_owned()
    };
    panic!("{what}: they differ at byte {at}:\n--- {}\n--- {}", show(one), show(other));
}

#[test]
fn threads() {
    let lab = Lab::new();
    graph(&lab, 1);
    for output in OUTPUTS {
        let first = on_tree(&lab, output);
        for jobs in ["1", "2", "8", "1", "2", "8", "8", "8"] {
            let args = [output, &["-j", jobs]].concat();
            same(&format!("{args:?}"), &first, &on_tree(&lab, &args));
        }
    }
}

#[test]
fn how_much_is_said() {
    let lab = Lab::new();
    graph(&lab, 2);
    let options: [&[&str]; 8] = [
        &["-v"],
        &["-q"],
        &["--color", "always"],
        &["--color", "never"],
        &["--progress", "always"],
        &["--timings"],
        &["-v", "--color", "always", "-j", "2"],
        &["--fail-on", "never"],
    ];
    for output in OUTPUTS.iter().filter(|output| output[1] != "human") {
        let first = on_tree(&lab, output);
        for option in options {
            let args = [output, option].concat();
            same(&format!("{args:?}"), &first, &on_tree(&lab, &args));
        }
    }
    // The same report as a second output of a run.
    let first = on_tree(&lab, &["--format", "json"]);
    on_tree(&lab, &["-o", "json=report.json", "--color", "always"]);
    let written = std::fs::read(lab.path("report.json")).expect("it was written");
    same("-o json=FILE", &first, &written);
}

#[test]
fn order_of_names() {
    let lab = Lab::new();
    graph(&lab, 3);
    let shim = lab.so("shuffle.so", SHUFFLE, &[]);
    let first: Vec<_> = OUTPUTS.iter().map(|output| on_tree(&lab, output)).collect();
    for round in 0..3 {
        for (output, first) in OUTPUTS.iter().zip(&first) {
            same(&format!("{output:?} of copy {round}"), first, &on_tree(&lab, output));
            for order in SHUFFLES {
                let mark = lab.path("was-asked");
                let run = stdout(
                    support::linkaudit()
                        .current_dir(lab.root())
                        .env("LD_PRELOAD", &shim)
                        .env("SHUFFLE", order)
                        .env("SHUFFLE_MARK", &mark)
                        .arg("check")
                        .args(*output)
                        // In the sandbox the shim could not write its mark.
                        .args(["--sandbox", "off", "tree"]),
                );
                same(&format!("{output:?} in order {order}"), first, &run);
                std::fs::remove_file(mark).expect("the C library's readdir is not used any more");
            }
        }
        copy_in_another_order(&lab, round);
    }
}

/// Replaces the tree by a copy whose files were created in another order.
fn copy_in_another_order(lab: &Lab, seed: u64) {
    let old = lab.path("old");
    std::fs::rename(lab.path("tree"), &old).expect("it can be renamed");
    let mut names: Vec<PathBuf> = walkdir::WalkDir::new(&old)
        .min_depth(1)
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.expect("a name").into_path())
        .filter(|path| !path.is_dir() || path.is_symlink())
        .collect();
    Random::new(seed).shuffle(&mut names);
    // `cp -a` keeps hard links among the files of one call.
    std::fs::create_dir(lab.path("tree")).expect("a directory");
    let relative = names.iter().map(|path| path.strip_prefix(&old).expect("below"));
    let copied = support::clean("cp")
        .current_dir(&old)
        .args(["-a", "--parents", "-t", "../tree", "--"])
        .args(relative)
        .status()
        .expect("cp runs");
    assert!(copied.success());
    std::fs::remove_dir_all(old).expect("it can be removed");
}

/// A `readdir64` that first reads the whole directory, and then returns entries in the order that
/// an environment variable sets. It has room for the few directories that are open at a time.
const SHUFFLE: &str = r#"
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct list { DIR *dir; struct dirent64 **names; int n, at; struct list *next; };
static struct list *lists;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dirent64 *(*real_read)(DIR *);
static int (*real_close)(DIR *);
static struct list *load(DIR *dir) {
    struct list *l = calloc(1, sizeof *l);
    l->dir = dir;
    for (struct dirent64 *e; (e = real_read(dir)); l->n++) {
        l->names = realloc(l->names, (l->n + 1) * sizeof *l->names);
        memcpy(l->names[l->n] = malloc(e->d_reclen), e, e->d_reclen);
    }
    const char *order = getenv("SHUFFLE");
    unsigned seed = atoi(order);
    for (int i = l->n - 1; i > 0; i--) {
        int j = seed ? (int)(rand_r(&seed) % (i + 1)) : i > l->n / 2 - 1 ? l->n - 1 - i : i;
        struct dirent64 *e = l->names[i]; l->names[i] = l->names[j]; l->names[j] = e;
    }
    int mark = open(getenv("SHUFFLE_MARK"), O_CREAT | O_WRONLY, 0600);
    close(mark);
    l->next = lists;
    return lists = l;
}
struct dirent64 *readdir64(DIR *dir) {
    pthread_mutex_lock(&lock);
    if (!real_read) real_read = (struct dirent64 *(*)(DIR *))dlsym(RTLD_NEXT, "readdir64");
    struct list *l = lists;
    while (l && l->dir != dir) l = l->next;
    if (!l) l = load(dir);
    struct dirent64 *e = l->at < l->n ? l->names[l->at++] : 0;
    pthread_mutex_unlock(&lock);
    return e;
}
int closedir(DIR *dir) {
    pthread_mutex_lock(&lock);
    if (!real_close) real_close = (int (*)(DIR *))dlsym(RTLD_NEXT, "closedir");
    for (struct list **p = &lists; *p; p = &(*p)->next)
        if ((*p)->dir == dir) { *p = (*p)->next; break; }
    pthread_mutex_unlock(&lock);
    return real_close(dir);
}
"#;

/// ELF files of a directory of this machine, every `step`th, as a list in the laboratory.
fn sample(lab: &Lab, dir: &str, step: usize) -> usize {
    let mut paths: Vec<PathBuf> = Path::new(dir)
        .read_dir()
        .expect("the directory can be listed")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file() && !path.to_string_lossy().contains('\n'))
        .filter(|path| std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF")))
        .collect();
    paths.sort_unstable();
    let paths: Vec<_> = paths.iter().step_by(step).map(|path| path.display().to_string()).collect();
    lab.write("list", paths.join("\n"));
    paths.len()
}

#[test]
fn threads_on_this_machine() {
    let lab = Lab::new();
    let files = sample(&lab, "/usr/lib/x86_64-linux-gnu", 4);
    let run = |args: &[&str]| {
        let list = ["--files-from", "list"];
        stdout(support::linkaudit().current_dir(lab.root()).args(args).args(list))
    };
    for output in OUTPUTS {
        let first = run(&[output, &["-j", "1"]].concat());
        for jobs in ["2", "8"] {
            same(&format!("{output:?} -j {jobs}"), &first, &run(&[output, &["-j", jobs]].concat()));
        }
    }
    println!("determinism: {files} libraries of this machine");
}

/// A result that is reused for another entry point must equal a newly computed one.
#[test]
fn reuse_changes_nothing() {
    for seed in 10..10 + GRAPHS {
        let lab = Lab::new();
        graph(&lab, seed);
        for output in OUTPUTS {
            let anew = on_tree(&lab, &[output, &["--no-reuse"]].concat());
            same(&format!("graph {seed}: {output:?}"), &on_tree(&lab, output), &anew);
        }
    }
}

#[test]
fn reuse_changes_nothing_on_this_machine() {
    let lab = Lab::new();
    let files = sample(&lab, "/usr/bin", 4);
    for output in OUTPUTS.iter().filter(|output| !output.contains(&"--facts")) {
        let args = [output, &["--files-from", "list"][..]].concat();
        let run = |more: &[&str]| {
            stdout(support::linkaudit().current_dir(lab.root()).args(&args).args(more))
        };
        same(&format!("/usr/bin: {output:?}"), &run(&[]), &run(&["--no-reuse"]));
    }
    // A directory, where a library is judged under the programs that load it.
    let whole = |more: &[&str]| Report::of(support::linkaudit().args(more).arg("/usr/sbin"));
    same("/usr/sbin", &whole(&[]).bytes, &whole(&["--no-reuse"]).bytes);
    println!("determinism: {files} programs of this machine");
}
