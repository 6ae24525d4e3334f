//! Plugins of a Debian sysroot whose host programs are inferred. The sysroot's own loader
//! preloads each plugin into its inferred program, and must find every symbol and library. Then
//! one symbol that each plugin takes from its program is renamed: each must be a finding. A lost
//! symbol of an ordinary library must be a finding too, even beside programs that export
//! thousands of symbols.
//!
//! `LINKAUDIT_INFERRED=many` takes more packages, `LINKAUDIT_INFERRED=desktop` those of a desktop
//! (3.6 GB). `REAL` and `desktop-findings.txt` list the findings that remain, each with its reason.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use crate::support::debian;
use crate::support::elf_file;
use crate::support::random;
use crate::support::report;

use elf_file::ElfFile;
use random::{Random, number};
use rayon::prelude::*;
use report::{Report, text};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use support::{Lab, clean, skip};

const SUITE: &str = "bookworm";
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// Programs with plugins, and packages that the plugins need.
const FEW: &[&str] = &["collectd-core", "coreutils", "frr", "lighttpd", "nbdkit", "rsyslog", "zsh"];

/// More programs with plugins.
const MANY: &[&str] = &[
    "bash-builtins",
    "caca-utils",
    "collectd-core",
    "coreutils",
    "dovecot-core",
    "erlang-base",
    "freeradius",
    "frr",
    "imagemagick",
    "lighttpd",
    "mariadb-server-core",
    "nbdkit",
    "ocaml-interp",
    "octave",
    "openmpi-bin",
    "pidgin",
    "proftpd-core",
    "qemu-system-x86",
    "rsyslog",
    "samba",
    "slapd",
    "slurmctld",
    "slurmd",
    "slurm-client",
    "slurm-wlm-basic-plugins",
    "swi-prolog-nox",
    "uwsgi-core",
    "uwsgi-plugins-all",
    "valgrind",
    "znc",
    "zsh",
];

/// Packages of a desktop, and the findings in them below their reasons.
const DESKTOP: &str = include_str!("debian_inferred/desktop.txt");
const DESKTOP_FINDINGS: &str = include_str!("debian_inferred/desktop-findings.txt");

/// Links that scripts of packages make with update-alternatives: the first target that exists.
const LINKS: &[(&str, &str)] = &[
    ("libblas.so.3", "openblas-pthread/libblas.so.3"),
    ("liblapack.so.3", "openblas-pthread/liblapack.so.3"),
    ("libopenblas.so.0", "openblas-pthread/libopenblas.so.0"),
    ("libpsm_infinipath.so.1", "../libpsm1/libpsm_infinipath.so.1.16"),
    ("libblas.so.3", "blas/libblas.so.3"),
    ("liblapack.so.3", "lapack/liblapack.so.3"),
];

/// The lines of a list.
fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Findings that are real: `RULE PATH` with the reason. A path may end with `*`.
const REAL: &[(&str, &str, &str)] = &[
    (
        "dead-search-entry",
        "lib/collectd/java.so",
        "a directory of OpenJDK, which the package only recommends",
    ),
    (
        "interposed-symbol",
        "lib/x86_64-linux-gnu/libc.so.6",
        "libfrr defines an inet_ntop of its own, which takes the place of libc's for all libraries",
    ),
    (
        "undefined-symbol",
        "lib/x86_64-linux-gnu/ImageMagick-6.9.11/modules-Q16/coders/mat.so",
        "GetMagickUTCTime is hidden in libMagickCore; `convert xc:red x.mat` fails",
    ),
    (
        "undefined-symbol",
        "lib/x86_64-linux-gnu/caca/libgl_plugin.so",
        "_push_event is a hidden function of libcaca",
    ),
    (
        "missing-library",
        "lib/collectd/java.so",
        "no search finds libjvm.so; README.Debian says how to name its directory",
    ),
    (
        "undefined-symbol",
        "lib/x86_64-linux-gnu/libompitrace.so.40.30.1",
        "the library is not linked with libmpi",
    ),
    (
        "undefined-symbol",
        "lib/x86_64-linux-gnu/libUsortlib.so.CombBLAS_1.16.0",
        "the library is not linked with libmpi",
    ),
    (
        "undefined-symbol",
        "lib/dovecot/modules/doveadm/lib20_doveadm_fts_lucene_plugin.so",
        "lucene_index_* are in a plugin of another package",
    ),
    (
        "undefined-symbol",
        "lib/x86_64-linux-gnu/slurm-wlm/mpi_pmix_v4.so",
        "it opens libpmix itself before it calls it; without, it fails",
    ),
    (
        "undefined-symbol",
        "lib/x86_64-linux-gnu/slurm-wlm/node_features_knl_cray.so",
        "numa_* and ume_notify are in libraries that it does not name",
    ),
    (
        "undefined-symbol",
        "lib/x86_64-linux-gnu/slurm-wlm/node_features_knl_generic.so",
        "numa_* and ume_notify are in libraries that it does not name",
    ),
    (
        "undefined-symbol",
        "lib/x86_64-linux-gnu/slurm-wlm/switch_cray_aries.so",
        "nothing defines print_jobinfo",
    ),
    (
        "undefined-symbol",
        "lib/x86_64-linux-gnu/slurm-wlm/prep_script.so",
        "no program has all: one half is in slurmctld, the other in slurmd",
    ),
    (
        "undefined-symbol",
        "lib/x86_64-linux-gnu/slurm-wlm/rest_auth_local.so",
        "a plugin of slurmrestd, which is another package",
    ),
    (
        "undefined-symbol",
        "lib/x86_64-linux-gnu/slurm-wlm/rest_auth_jwt.so",
        "a plugin of slurmrestd, which is another package",
    ),
    (
        "undefined-symbol",
        "lib/proftpd/mod_auth_otp.so",
        "sftp_* are in mod_sftp, which is another package",
    ),
    ("undefined-symbol", "lib/uwsgi/plugins/gccgo_plugin.so", "it is not linked with libgo"),
    (
        "undefined-symbol",
        "lib/uwsgi/plugins/mongrel2_plugin.so",
        "it is not linked with libjansson",
    ),
    (
        "undefined-symbol",
        "lib/x86_64-linux-gnu/qemu/hw-s390x-virtio-gpu-ccw.so",
        "a plugin of qemu-system-s390x, which is another package",
    ),
    (
        "undefined-symbol",
        "lib/x86_64-linux-gnu/libunwind-ptrace.so.0.0.0",
        "it does not name liblzma and libunwind-x86_64",
    ),
    (
        "undefined-symbol",
        "lib/x86_64-linux-gnu/libunwind-coredump.so.0.0.0",
        "it does not name libunwind-x86_64",
    ),
    ("undecided", "libexec/valgrind/getoff-x86-linux", "the root has no loader for i386"),
    ("undecided", "share/qemu/s390-ccw.img", "the root has no loader for s390x"),
    ("undecided", "share/qemu/s390-netboot.img", "the root has no loader for s390x"),
    (
        "bad-library-file",
        "share/qemu/opensbi-riscv64-generic-fw_dynamic.elf",
        "firmware that is not yet told from a damaged program",
    ),
    (
        "undefined-symbol",
        "lib/x86_64-linux-gnu/frr/libfrrospfapiclient.so.0.0.0",
        "its msg_* functions are in ospfd, which does not load it",
    ),
];

/// The first letter of a symbol that is lost.
const LOST: u8 = b'Q';

struct Root {
    /// Held because its drop removes the files.
    _lab: Lab,
    path: PathBuf,
}

impl Root {
    fn new(packages: &[PathBuf]) -> Self {
        let lab = Lab::new();
        let path = lab.path("root");
        debian::unpack_merged(packages, &path).expect("packages that unpack");
        let dir = path.join("usr/lib/x86_64-linux-gnu");
        for (link, target) in LINKS {
            if dir.join(target).exists() && !dir.join(link).exists() {
                std::os::unix::fs::symlink(target, dir.join(link)).expect("a link");
            }
        }
        Self { _lab: lab, path }
    }

    fn audit(&self, args: &[&str]) -> Report {
        let mut command = support::linkaudit();
        command.args(["--isolated", "--root"]).arg(&self.path).args(args).arg("/usr");
        Report::of(&mut command)
    }

    /// True if no file of the root has this name.
    fn lacks(&self, name: &str) -> bool {
        let found = clean("find").arg(&self.path).args(["-name", name]).output().expect("find");
        found.status.success() && found.stdout.is_empty()
    }

    /// The file at a path of the root.
    fn file(&self, path: &str) -> PathBuf {
        self.path.join(path.trim_start_matches('/')).canonicalize().expect("a file of the root")
    }
}

/// Inferred plugins with their programs, by paths inside the root.
fn inferred(report: &Report) -> BTreeMap<String, String> {
    let list = report.value["assumptions"].as_array().expect("assumptions").iter();
    let hosts = list.filter(|assumption| assumption["by"] == "inferred-host");
    let pairs = hosts.flat_map(|host| {
        let plugins = host["plugins"].as_array().expect("plugins").iter();
        let program = text(&host["name"]).to_owned();
        plugins.map(move |plugin| (text(&plugin["path"]).to_owned(), program.clone()))
    });
    pairs.collect()
}

/// The shared objects of a report outside of the default directories.
fn objects(report: &Report) -> Vec<String> {
    let files = report.value["files"].as_array().expect("files").iter();
    let shared = files.filter(|file| file["interpreter"].is_null());
    let paths = shared.map(|file| text(&file["path"]).to_owned());
    let is_plugin =
        |path: &String| path.contains(".so") && !path.starts_with("/usr/lib/x86_64-linux-gnu/lib");
    paths.filter(is_plugin).collect()
}

/// Missing libraries, and the symbols that they explain: these stay findings.
struct Known {
    libraries: BTreeSet<String>,
    explained: BTreeSet<(String, String)>,
}

impl Known {
    fn new(report: &Report) -> Self {
        let missing = report.of_rule("missing-library");
        let libraries = missing.map(|finding| text(&finding["library"]).to_owned()).collect();
        let causes = report.value["causes"].as_array().expect("causes").iter();
        let pieces = report.findings().chain(causes).filter_map(|of| of["evidence"].as_array());
        let explained = pieces.flatten().filter(|piece| piece["kind"] == "explained");
        let pair =
            |piece: &Value| (text(&piece["path"]).to_owned(), text(&piece["symbol"]).to_owned());
        Self { libraries, explained: explained.map(pair).collect() }
    }
}

/// The libraries and symbols of a plugin that the sysroot's loader does not find when it preloads
/// the plugin into a program, after `others`.
fn lacks(
    root: &Path,
    known: &Known,
    (plugin, program): (&str, &str),
    others: &[&String],
) -> Vec<String> {
    let all: Vec<&str> = others.iter().map(|other| other.as_str()).chain([plugin]).collect();
    let mut command = clean("chroot");
    command.arg(root).args(["/usr/bin/env", "-i", "LD_TRACE_LOADED_OBJECTS=1", "LD_WARN=yes"]);
    command.args(["LD_BIND_NOW=yes", LOADER, "--preload", &all.join(":"), program]);
    let output = command.output().expect("chroot runs");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let is_bad = |line: &&str| {
        if let Some((library, _)) = line.trim().split_once(" => not found") {
            return !known.libraries.contains(library);
        }
        let undefined = line.strip_prefix("undefined symbol: ");
        if let Some((symbol, of)) = undefined.and_then(|rest| rest.split_once("\t(")) {
            let symbol = symbol.split(',').next().unwrap_or(symbol).to_owned();
            return of.trim_end_matches(')') == plugin
                && !known.explained.contains(&(plugin.to_owned(), symbol));
        }
        let refused = line.contains("cannot be preloaded") && line.contains(plugin);
        refused || line.contains("error while loading")
    };
    let lines = text.lines().filter(is_bad);
    lines.map(|line| format!("{plugin} in {program}: {}", line.trim())).collect()
}

/// As `lacks`. If the plugin alone lacks something, the shared objects of its directory, the parent
/// and the subdirectories are preloaded first.
fn wrong(
    root: &Path,
    known: &Known,
    objects: &[String],
    (plugin, program): (&str, &str),
) -> Vec<String> {
    if lacks(root, known, (plugin, program), &[]).is_empty() {
        return Vec::new();
    }
    let near = |path: &str| {
        Path::new(path).ancestors().skip(1).take(2).map(Path::to_owned).collect::<BTreeSet<_>>()
    };
    let here = near(plugin);
    let beside = objects.iter().filter(|other| *other != plugin && !near(other).is_disjoint(&here));
    lacks(root, known, (plugin, program), &beside.collect::<Vec<_>>())
}

/// Gives an undefined symbol of a file another first letter; false if the file has no such symbol.
fn lose(path: &Path, name: &str) -> bool {
    let mut file = ElfFile::new(std::fs::read(path).expect("a library")).expect("an ELF file");
    let strings = file.table(5).expect("DT_STRTAB");
    let found = file.symbols().into_iter().find(|at| {
        let undefined = file.get(at + 6, 2) == Some(0);
        let start = file.get(*at, 4).map(|start| strings + usize::try_from(start).unwrap_or(0));
        let bytes = start.and_then(|start| file.bytes.get(start..start + name.len() + 1));
        undefined && bytes.is_some_and(|bytes| bytes.strip_suffix(b"\0") == Some(name.as_bytes()))
    });
    let Some(at) = found else { return false };
    let start = usize::try_from(file.get(at, 4).expect("st_name")).expect("an offset");
    file.bytes[strings + start] = LOST;
    std::fs::write(path, &file.bytes).expect("a library of the laboratory");
    true
}

#[test]
fn inferred_programs_have_what_their_plugins_lack() {
    let chroot = clean("chroot").args(["/", "true"]).status();
    if !chroot.is_ok_and(|status| status.success()) {
        return skip("debian_inferred", "needs root for chroot");
    }
    let switch = std::env::var("LINKAUDIT_INFERRED").ok();
    let many = switch.is_some();
    let packages: Vec<&str> = match switch.as_deref() {
        None => FEW.to_vec(),
        Some("desktop") => lines(DESKTOP).flat_map(str::split_whitespace).collect(),
        Some(_) => MANY.to_vec(),
    };
    let fetched = debian::Debian::new(SUITE, "amd64").and_then(|debian| debian.fetch(&packages));
    let files = match fetched {
        Ok(files) => files,
        Err(reason) => return skip(&format!("debian_inferred: {SUITE}"), &reason),
    };
    let root = Root::new(&files);
    let report = root.audit(&[]);
    let pairs = inferred(&report);
    let known = Known::new(&report);
    let objects = objects(&report);
    let all: Vec<(&String, &String)> = pairs.iter().collect();
    let lacking: Vec<String> = all
        .par_iter()
        .flat_map(|(plugin, host)| wrong(&root.path, &known, &objects, (plugin, host)))
        .collect();
    println!(
        "{SUITE}: {} packages, {} files; {} plugins in their programs, {} differences",
        files.len(),
        report.total("elf"),
        pairs.len(),
        lacking.len()
    );
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
    assert!(pairs.len() > if many { 300 } else { 100 }, "{} plugins", pairs.len());
    only_real(&root, &report);
    let without = root.audit(&["--no-inferred-hosts"]);
    let found = symbols(&without);
    renamed(&root, &pairs, &found);
    libraries(&root);
}

/// Every finding is on the list.
fn only_real(root: &Root, report: &Report) {
    let mut unknown: BTreeSet<String> = BTreeSet::new();
    let mut absent = 0;
    for finding in report.findings() {
        let (rule, path) = (text(&finding["rule"]), text(&finding["path"]));
        // Packages that are only recommended are not unpacked.
        if rule == "missing-library" && root.lacks(text(&finding["library"])) {
            absent += 1;
            continue;
        }
        let is_listed = REAL.iter().any(|(known, at, _)| *known == rule && *at == path)
            || lines(DESKTOP_FINDINGS).any(|line| line.split_once(' ') == Some((rule, path)));
        if !is_listed {
            let name = finding["symbol"].as_str().or(finding["library"].as_str());
            unknown.insert(format!("{rule} {path} {}", name.unwrap_or_default()));
        }
    }
    println!(
        "{} findings, {absent} of them libraries of packages that are not there, {} not on the list",
        report.findings().count(),
        unknown.len()
    );
    assert!(unknown.is_empty(), "{}", Vec::from_iter(unknown).join("\n"));
}

/// Undefined symbols by path.
fn symbols(report: &Report) -> BTreeMap<String, Vec<String>> {
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for finding in report.of_rule("undefined-symbol") {
        let path = format!("/usr/{}", text(&finding["path"]));
        out.entry(path).or_default().push(text(&finding["symbol"]).to_owned());
    }
    out
}

/// One symbol of each inferred plugin is renamed, and must become a finding.
fn renamed(root: &Root, pairs: &BTreeMap<String, String>, open: &BTreeMap<String, Vec<String>>) {
    let mut random = Random::new(number("LINKAUDIT_SEED", 1));
    let mut lost: BTreeMap<&String, String> = BTreeMap::new();
    for plugin in pairs.keys() {
        let Some(names) = open.get(plugin).filter(|names| !names.is_empty()) else { continue };
        let name = random.pick(names).clone();
        if lose(&root.file(plugin), &name) {
            lost.insert(plugin, format!("{}{}", char::from(LOST), &name[1..]));
        }
    }
    let report = root.audit(&[]);
    let found = symbols(&report);
    let missed: Vec<String> = lost
        .iter()
        .filter(|(plugin, name)| !found.get(**plugin).is_some_and(|list| list.contains(name)))
        .map(|(plugin, name)| format!("{plugin} {name}"))
        .collect();
    println!("{} plugins with a renamed symbol, {} not found", lost.len(), missed.len());
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    assert!(lost.len() > 80, "{} plugins were changed", lost.len());
}

/// Ordinary libraries lose a symbol, also beside programs that export thousands of names.
fn libraries(root: &Root) {
    let mut random = Random::new(number("LINKAUDIT_SEED", 1) + 1);
    let dir = root.path.join("usr/lib/x86_64-linux-gnu");
    let mut all: Vec<PathBuf> = dir
        .read_dir()
        .expect("libraries")
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().contains(".so."))
        .collect();
    all.sort();
    random.shuffle(&mut all);
    let mut lost: BTreeMap<String, String> = BTreeMap::new();
    for path in all {
        if lost.len() == 200 {
            break;
        }
        let Some(mut file) = ElfFile::new(std::fs::read(&path).expect("a library")) else {
            continue;
        };
        let Some(strings) = file.table(5) else { continue };
        let undefined: Vec<usize> = file
            .symbols()
            .into_iter()
            .filter(|at| file.get(at + 4, 1).is_some_and(|info| info >> 4 == 1))
            .filter(|at| file.get(at + 6, 2) == Some(0))
            .collect();
        // STT_FUNC with a jump slot: a relocation refers to it.
        let Some(at) = undefined.last().copied() else { continue };
        let start = file.get(at, 4).expect("st_name");
        let begin = strings + usize::try_from(start).expect("an offset");
        let name = file.bytes[begin..].split(|byte| *byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        if name.len() < 4 {
            continue;
        }
        file.bytes[begin] = LOST;
        std::fs::write(&path, &file.bytes).expect("a library of the laboratory");
        let below = path.strip_prefix(&root.path).expect("a path of the root");
        lost.insert(format!("/{}", below.display()), format!("{}{}", char::from(LOST), &name[1..]));
    }
    let report = root.audit(&[]);
    let found = symbols(&report);
    let excused = inferred(&report);
    let missed: Vec<String> = lost
        .iter()
        .filter(|(path, name)| !found.get(*path).is_some_and(|list| list.contains(name)))
        .map(|(path, name)| format!("{path} {name}"))
        .collect();
    let inferred = lost.keys().filter(|path| excused.contains_key(*path)).count();
    println!(
        "{} libraries with a lost symbol, {} not found, {inferred} excused",
        lost.len(),
        missed.len()
    );
    assert!(missed.is_empty() && inferred == 0, "{}", missed.join("\n"));
    assert!(lost.len() > 50, "{} libraries were changed", lost.len());
}
