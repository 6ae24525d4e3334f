//! Compares rules about a process with other tools. The loader shows interposed symbols one by
//! one, `ldd -u` unused libraries, and readelf program headers. `ld --no-copy-dt-needed-entries`
//! shows libraries that are used without a need.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod copied;
mod copies;
mod interposed;
mod libc_and_loader;
mod sanitizers;
mod weak_aliases;

use crate::support;

use crate::support::ld_debug::{Binding, PROGRAMS, is_fitting, programs, spread, traced};
use crate::support::random::{Random, is_sweep, number};
use crate::support::report::{self, Report, list, text, whole_path};
use crate::support::tiny::Tiny;
use crate::support::{Lab, clean, has, skip};

use object::Endianness;
use object::elf;
use object::read::SymbolIndex;
use object::read::elf::{ElfFile64, Sym as _};
use rayon::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

fn evidence<'f>(finding: &'f Value, kind: &str) -> Vec<&'f Value> {
    list(&finding["evidence"]).filter(|evidence| evidence["kind"] == kind).collect()
}

fn real(path: &str) -> PathBuf {
    Path::new(path).canonicalize().unwrap_or_else(|_| path.into())
}

/// Bindings with the real paths of their files.
fn resolved(bindings: &BTreeSet<Binding>) -> BTreeSet<(PathBuf, String, PathBuf)> {
    let files: BTreeSet<&str> =
        bindings.iter().flat_map(|(file, .., provider)| [&**file, provider]).collect();
    let files: BTreeMap<&str, PathBuf> = files.into_iter().map(|file| (file, real(file))).collect();
    let one = |(file, symbol, _, provider): &Binding| {
        (files[&**file].clone(), symbol.clone(), files[&**provider].clone())
    };
    bindings.iter().map(one).collect()
}

/// Strong functions and data that an object exports. Old versions are left out: no reference to
/// another library's version leads to them.
fn strong(path: &Path) -> BTreeSet<String> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let Ok(file) = ElfFile64::<Endianness>::parse(&*bytes) else { return BTreeSet::new() };
    let table = file.elf_dynamic_symbol_table();
    let e = file.endian();
    let versions = file.elf_section_table().versions(e, &*bytes).ok().flatten();
    let is_strong = |(at, symbol): &(SymbolIndex, &elf::Sym64<Endianness>)| {
        !symbol.is_undefined(e)
            && versions.as_ref().is_none_or(|all| !all.version_index(e, *at).is_hidden())
            && symbol.st_bind() == elf::STB_GLOBAL
            && matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_OBJECT)
            && symbol.st_visibility() == elf::STV_DEFAULT
    };
    let all = table.enumerate().filter(is_strong);
    let names = all.filter_map(|(_, symbol)| symbol.name(e, table.strings()).ok());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// Files that define the same names by design: (start of the loser's name, start of the winner's).
const DECLARED: [(&str, &str); 3] =
    [("lib", "libasan"), ("libgcc_s.", "libc.so"), ("libGL", "libGL")];
/// Symbols that libraries are meant to replace.
const REPLACED: [&str; 12] = [
    "malloc",
    "free",
    "calloc",
    "realloc",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "malloc_usable_size",
    "_init",
    "_fini",
];

/// The loader binds every interposed symbol as in the report. The report has every binding of a
/// library's own strong symbol to another library.
#[test]
fn interposed_symbols_are_bound_as_the_report_says() {
    let all = programs();
    let report = Report::of(support::linkaudit().arg("--facts").args(&all));
    let mut said: BTreeSet<(PathBuf, String, PathBuf)> = BTreeSet::new();
    let mut pairs: BTreeSet<(PathBuf, PathBuf)> = BTreeSet::new();
    let mut roots: BTreeSet<PathBuf> = spread(&all).into_iter().collect();
    let (mut symbols, mut wrong) = (0, Vec::new());
    for finding in report.findings().filter(|f| f["rule"] == "interposed-symbol") {
        let root = report::path(&finding["root"]);
        let winner = report::path(&evidence(finding, "copy")[0]["path"]);
        let loser = report::path(&evidence(finding, "copy")[1]["path"]);
        pairs.insert((real(&loser.to_string_lossy()), real(&winner.to_string_lossy())));
        let is_fitting = is_fitting(&root);
        let traced = if is_fitting { resolved(&traced(&root)) } else { BTreeSet::new() };
        // The last item may have only the number of symbols that the finding does not list.
        let listed = evidence(finding, "bound").into_iter().filter(|one| one["more"].is_null());
        for bound in listed {
            let at = |path: &Path| real(&path.to_string_lossy());
            let one =
                (at(&report::path(&bound["path"])), text(&bound["symbol"]).to_owned(), at(&winner));
            symbols += usize::from(is_fitting);
            // A copy of the program, or an address that it fixes, leads to the winner.
            let program = real(&root.to_string_lossy());
            let (referrer, symbol, winner) = one.clone();
            let is_through = traced.contains(&(referrer, symbol.clone(), program.clone()))
                && traced.contains(&(program, symbol, winner));
            if is_fitting && !traced.contains(&one) && !is_through {
                wrong.push(format!("{}: the loader does not bind {one:?}", root.display()));
            }
            said.insert(one);
        }
        roots.insert(root);
    }
    let mut exports: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    let mut own = 0;
    for root in roots.iter().filter(|root| is_fitting(root)) {
        let program = real(&root.to_string_lossy());
        for (file, symbol, provider) in resolved(&traced(root)) {
            if file == provider
                || file == program
                || provider == program
                || REPLACED.contains(&&*symbol)
            {
                continue;
            }
            let exports = exports.entry(file.clone()).or_insert_with(|| strong(&file));
            let names = [&file, &provider]
                .map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned());
            let declared = |(loser, winner): &(&str, &str)| {
                names[0].starts_with(loser) && names[1].starts_with(winner)
            };
            if exports.contains(&symbol) && !DECLARED.iter().any(declared) {
                own += 1;
                if !pairs.contains(&(file.clone(), provider.clone())) {
                    wrong.push(format!(
                        "{}: not named: {file:?} {symbol} {provider:?}",
                        root.display()
                    ));
                }
            }
        }
    }
    println!(
        "interposed symbols: {} programs, {} pairs, {symbols} symbols, {own} bindings past an own \
         definition in {} traces, {} differences",
        all.len(),
        pairs.len(),
        roots.len(),
        wrong.len()
    );
    assert!(roots.len() >= PROGRAMS, "{} programs", roots.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The program prints the library whose function ran.
#[test]
fn the_winner_runs() {
    let helper =
        |number: u32| format!("int helper(void) {{ volatile int n = {number}; return n; }}");
    let calls = |name: &str| format!("int {name}(void) {{ return helper(); }}");
    let main = "#include <stdio.h>\nint one(void); int other(void);\n\
                int main(void) { printf(\"%d\\n\", one() + 0 * other()); return 0; }";
    // The attribute of libone's helper, the output of the program, and true if the report names
    // the symbol.
    let cases = [
        ("", "2", true),
        ("__attribute__((visibility(\"hidden\")))", "1111", false),
        ("__attribute__((visibility(\"protected\")))", "1111", false),
        ("__attribute__((weak))", "2", true),
    ];
    let lib = "-Wl,-rpath,$ORIGIN/../lib";
    for (attribute, expected, named) in cases {
        let lab = Lab::new();
        lab.so("lib/libother.so", &(helper(2) + &calls("other")), &["-Wl,-soname,libother.so"]);
        let own = format!(
            "{attribute} {}{}",
            helper(1111).replace("return n;", "n++; return n - 1;"),
            calls("one")
        );
        lab.so("lib/libone.so", &own, &["-Wl,-soname,libone.so"]);
        let flags = ["-Wl,--no-as-needed", "-Llib", "-lother", "-lone", lib];
        lab.exe("bin/app", main, &flags);
        let output = clean(lab.path("bin/app")).output().expect("the program runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected, "{attribute}");
        let report = Report::of(support::linkaudit().arg(lab.root()));
        let found = report.findings().filter(|f| f["rule"] == "interposed-symbol").count();
        assert_eq!(found, usize::from(named), "{attribute}");
    }
}

/// A function `name` of one size or another, and a function that calls it.
fn calls(name: &str, caller: &str, is_long: bool) -> String {
    let body = if is_long { "volatile int a = 1, b = 2; return a * b + a;" } else { "return 1;" };
    format!("int {name}(void) {{ {body} }} int {caller}(void) {{ return {name}(); }}")
}

/// GCC Toolset links a static part of libstdc++ into each object, which then has functions of
/// libstdc++ and needs it. A whole static copy in an object that does not need libstdc++ is
/// reported, and so is any other name.
#[test]
fn parts_of_the_cxx_library() {
    const STATE: &str = "_ZNSt6thread6_StateD1Ev";
    let cases = [(STATE, true, 0), (STATE, false, 1), ("_ZN6thread6_StateD1Ev", true, 1)];
    for (name, needs, expected) in cases {
        let lab = Lab::new();
        let soname = "-Wl,-soname,libstdc++.so.6";
        lab.so("libstdc++.so.6", &calls(name, "shared", false), &[soname, "-nostdlib"]);
        let mut flags = vec!["-Wl,-soname,libpart.so", "-Wl,--no-as-needed"];
        flags.extend(needs.then_some("libstdc++.so.6"));
        lab.so("libpart.so", &calls(name, "part", true), &flags);
        let main = "int part(void), shared(void); int main(void) { return part() + shared(); }";
        let needs = ["-Wl,--no-as-needed", "libpart.so", "libstdc++.so.6", "-Wl,-rpath,$ORIGIN"];
        lab.exe("app", main, &needs);
        let report = Report::of(support::linkaudit().arg(lab.path("app")));
        assert_eq!(report.of_rule("interposed-symbol").count(), expected, "{}", report.outline());
    }
}

/// The guard of a variable in an inline function, which the linker may have made strong.
#[test]
fn guards_of_variables_in_inline_functions() {
    for (name, expected) in [("_ZGVZ4nameE3one", 0), ("_ZN4name3oneE", 1)] {
        let lab = Lab::new();
        for library in ["one", "two"] {
            let source = format!("long {name} = 1; long *{library}(void) {{ return &{name}; }}");
            let soname = format!("-Wl,-soname,lib{library}.so");
            lab.so(&format!("lib{library}.so"), &source, &[&soname]);
        }
        let main = "long *one(void), *two(void); int main(void) { return one() == two(); }";
        let flags = ["-Wl,--no-as-needed", "libone.so", "libtwo.so", "-Wl,-rpath,$ORIGIN"];
        lab.exe("app", main, &flags);
        let report = Report::of(support::linkaudit().arg(lab.path("app")));
        assert_eq!(report.of_rule("interposed-symbol").count(), expected, "{}", report.outline());
    }
}

/// The direct needs that `ldd -u` calls unused. `None` if it does not accept the file.
fn unused(object: &Path) -> Option<BTreeSet<PathBuf>> {
    let output = clean("ldd").arg("-u").arg(object).output().expect("ldd runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let refused = ["not a dynamic executable", "statically linked", "error while loading"];
    let lines = text.lines().filter(|line| line.starts_with('\t')).map(str::trim);
    let path = |line: &str| if line.contains('/') { real(line) } else { line.into() };
    (!refused.iter().any(|words| text.contains(words))).then(|| lines.map(path).collect())
}

/// The programs and shared objects of this machine that are not static.
fn objects() -> Vec<PathBuf> {
    let tops = ["/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec"];
    let entries = tops.iter().flat_map(|top| walkdir::WalkDir::new(top).sort_by_file_name());
    let files = entries.filter_map(Result::ok).filter(|entry| entry.file_type().is_file());
    let is_object = |path: &PathBuf| {
        let mut head = [0; 20];
        let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
        read.is_ok()
            && head.starts_with(b"\x7fELF\x02\x01")
            && matches!(head[16], 2 | 3)
            && head[18..20] == 62_u16.to_le_bytes()
    };
    let mut seen = BTreeSet::new();
    let is_new = |entry: &walkdir::DirEntry| {
        entry.metadata().is_ok_and(|data| seen.insert((data.dev(), data.ino())))
    };
    files.filter(is_new).map(walkdir::DirEntry::into_path).filter(is_object).collect()
}

/// `LINKAUDIT_SWEEP=all` asks about every object of /usr that `ldd` accepts.
#[test]
fn unused_libraries_are_those_of_ldd() {
    const STEP: usize = 20;
    let objects: Vec<PathBuf> =
        objects().into_iter().step_by(if is_sweep() { 1 } else { STEP }).collect();
    let lab = Lab::new();
    let lines = objects.iter().map(|path| path.as_os_str().as_bytes());
    let names = lab.write("list", lines.collect::<Vec<_>>().join(&b'\n'));
    let options = ["--isolated", "--as-ldd", "-W", "unused-library", "--files-from"];
    let report = Report::of(support::linkaudit().args(options).arg(names));
    // Findings of one cause share their evidence.
    let shared = |finding: &Value| {
        let of_cause = |cause: &&Value| cause["id"] == finding["cause"];
        list(&report.value["causes"]).find(of_cause).map(|cause| &cause["evidence"])
    };
    let mut said: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
    for finding in report.of_rule("unused-library") {
        let own = evidence(finding, "provider").first().copied();
        let provider =
            own.or_else(|| list(shared(finding)?).find(|evidence| evidence["kind"] == "provider"));
        let library = report::path(&provider.expect("the library")["path"]);
        let file = real(&whole_path(finding).to_string_lossy());
        said.entry(file).or_default().insert(real(&library.to_string_lossy()));
    }
    // Since 2.34 these define nothing that a program could use; ldd names them, and there is
    // nothing to repair: the rule must be silent.
    let is_empty = |path: &PathBuf| {
        ["libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "libanl.so.1"]
            .iter()
            .any(|name| path.ends_with(name))
    };
    let none = BTreeSet::new();
    let compared: Vec<Option<(usize, Vec<String>)>> = objects
        .par_iter()
        .map(|object| {
            let ldd = unused(object)?;
            // A name without a directory is a library that is not found: `missing-library` has it.
            let found = |path: &PathBuf| path.is_absolute() && !is_empty(path);
            let ldd: BTreeSet<PathBuf> = ldd.into_iter().filter(found).collect();
            let ours = said.get(object).unwrap_or(&none);
            let differ = ldd.symmetric_difference(ours);
            let differ = differ.map(|path| format!("{}: {}", object.display(), path.display()));
            Some((ldd.len(), differ.collect()))
        })
        .collect();
    let accepted = compared.iter().flatten().count();
    let count: usize = compared.iter().flatten().map(|(count, _)| count).sum();
    let differences: Vec<String> =
        compared.into_iter().flatten().flat_map(|(_, differ)| differ).collect();
    println!(
        "unused libraries: {} objects, of which ldd accepts {accepted} and names {count} libraries, {} \
         differences",
        objects.len(),
        differences.len()
    );
    assert!(accepted >= if is_sweep() { 400 } else { 20 }, "{accepted} objects");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The output of a strict link of `main.o` against `library` by GNU ld or by lld.
fn strict(lab: &Lab, linker: &[&str], library: &str) -> String {
    let output = clean("cc")
        .current_dir(lab.root())
        .args(["main.o", "-o", "strict", "-Wl,--no-as-needed", "-Llib", library])
        .args(linker)
        .output()
        .expect("cc runs");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Symbols that GNU ld refuses: the first of each library.
fn refused_by_ld(lab: &Lab, library: &str) -> BTreeSet<String> {
    let flags = ["-Wl,--no-copy-dt-needed-entries", "-Wl,-rpath-link,lib"];
    let text = strict(lab, &flags, library);
    let lines = text.lines().filter(|line| line.contains("undefined reference to symbol"));
    lines.filter_map(|line| Some(line.split('\'').nth(1)?.to_owned())).collect()
}

/// Symbols that lld refuses: all.
fn refused_by_lld(lab: &Lab, library: &str) -> BTreeSet<String> {
    let flags = ["-fuse-ld=lld", "-Wl,--no-allow-shlib-undefined", "-Wl,--error-limit=0"];
    let text = strict(lab, &flags, library);
    let lines = text.lines().filter_map(|line| line.split_once("undefined symbol: "));
    lines.map(|(_, name)| name.trim().to_owned()).collect()
}

/// Random graphs of libraries, and a program that uses more of them than it links.
/// `LINKAUDIT_INDIRECT` is their number.
#[test]
fn libraries_used_without_a_need_are_those_that_ld_and_lld_refuse() {
    const LIBRARIES: usize = 5;
    if !has("ld.lld") {
        return skip("indirect_libraries", "there is no ld.lld");
    }
    let mut random = Random::new(number("LINKAUDIT_SEED", 1));
    let graphs = number("LINKAUDIT_INDIRECT", 20);
    let (mut symbols, mut of_lld, mut wrong) = (0, 0, Vec::new());
    for graph in 0..graphs {
        let lab = Lab::new();
        let mut shape = String::new();
        for at in 0..LIBRARIES {
            // Each needs some of those before it.
            let needs: Vec<usize> = (0..at).filter(|_| random.below(2) == 0).collect();
            shape += &format!("{at} needs {needs:?}; ");
            let calls: String = needs.iter().map(|to| format!(" + f{to}()")).collect();
            let heads: String = needs.iter().map(|to| format!("int f{to}(void);")).collect();
            let source = format!("{heads} int f{at}(void) {{ return {at}{calls}; }}");
            let mut flags =
                vec![format!("-Wl,-soname,lib{at}.so"), "-nostdlib".to_owned(), "-Llib".to_owned()];
            flags.extend(needs.iter().map(|to| format!("-l{to}")));
            flags.push("-Wl,-rpath,$ORIGIN".to_owned());
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            lab.so(&format!("lib/lib{at}.so"), &source, &flags);
        }
        let top = LIBRARIES - 1;
        let used: Vec<usize> = (0..top).filter(|_| random.below(2) == 0).collect();
        let heads: String = used.iter().map(|to| format!("int f{to}(void);")).collect();
        let calls: String = used.iter().map(|to| format!(" + f{to}()")).collect();
        let main =
            format!("{heads} int f{top}(void); int main(void) {{ return f{top}(){calls}; }}");
        lab.cc("main.o", &main, &["-c", "-fPIE"], &[]);
        let need = format!("-l{top}");
        let (refused, by_lld) = (refused_by_ld(&lab, &need), refused_by_lld(&lab, &need));
        // The program is linked with a library that defines everything, and finds the other one.
        let all: String =
            (0..LIBRARIES).map(|at| format!("int f{at}(void) {{ return 0; }}")).collect();
        let soname = format!("-Wl,-soname,lib{top}.so");
        lab.so(&format!("stub/lib{top}.so"), &all, &["-nostdlib", &soname]);
        let flags = ["-Wl,--no-as-needed", "-Lstub", &need, "-Wl,-rpath,$ORIGIN/lib"];
        lab.exe("app", &main, &flags);
        let report =
            Report::of(support::linkaudit().args(["-W", "indirect-library"]).arg(lab.path("app")));
        let said: BTreeSet<String> = report
            .findings()
            .filter(|finding| finding["rule"] == "indirect-library")
            .flat_map(|finding| evidence(finding, "bound"))
            .map(|bound| text(&bound["symbol"]).to_owned())
            .collect();
        symbols += refused.len();
        of_lld += by_lld.len();
        // lld does not follow the needs of libraries: it refuses names that no library reaches,
        // too.
        let undefined = report.of_rule("undefined-symbol");
        let undefined = undefined.map(|finding| text(&finding["symbol"]).to_owned());
        let all: BTreeSet<String> = said.iter().cloned().chain(undefined).collect();
        if by_lld != all {
            wrong.push(format!("graph {graph} {shape}: lld {by_lld:?}, here {all:?}"));
        }
        // GNU ld stops at the first such symbol of each library.
        if refused.is_empty() != said.is_empty() || !refused.is_subset(&said) {
            wrong.push(format!("graph {graph} {shape}: ld {refused:?}, here {said:?}"));
        }
    }
    println!(
        "indirect libraries: {graphs} graphs, ld refuses {symbols} symbols and lld {of_lld}, \
         {} differences",
        wrong.len()
    );
    assert!(symbols > 5, "only {symbols} symbols");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Data that a program copies, and a function whose address it fixes. A program's own data of the
/// same name does not count as a use of the library.
#[test]
fn data_used_without_a_need_is_what_ld_refuses() {
    let cases = [
        ("data", "extern int data; int near(void); int main(void) { return near() + data - 2; }"),
        (
            "code",
            "int near(void), code(void); int (*volatile p)(void); \
             int main(void) { p = code; return near() - p(); }",
        ),
        ("", "int data = 2; int near(void); int main(void) { return near() + data - 3; }"),
    ];
    for (expected, main) in cases {
        let lab = Lab::new();
        let far = "int data = 1; int code(void) { return 1; }";
        lab.so("lib/libfar.so", far, &["-nostdlib", "-Wl,-soname,libfar.so"]);
        let flags = ["-nostdlib", "-Wl,-soname,libnear.so", "-Llib", "-lfar", "-Wl,-rpath,$ORIGIN"];
        lab.so("lib/libnear.so", "int code(void); int near(void) { return code(); }", &flags);
        lab.cc("main.o", main, &["-c", "-fno-pie"], &[]);
        let refused = refused_by_ld(&lab, "-lnear");
        // The program is linked with a library that defines everything, and finds the other one.
        let all = "int data; int code(void) { return 0; } int near(void) { return 0; }";
        lab.so("stub/libnear.so", all, &["-nostdlib", "-Wl,-soname,libnear.so"]);
        let flags =
            ["-fno-pie", "-no-pie", "-rdynamic", "-Lstub", "-lnear", "-Wl,-rpath,$ORIGIN/lib"];
        lab.exe("app", main, &flags);
        assert!(lab.sh("./app").status.success(), "{main}");
        let report =
            Report::of(support::linkaudit().args(["-W", "indirect-library"]).arg(lab.path("app")));
        let said: BTreeSet<String> = report
            .of_rule("indirect-library")
            .flat_map(|finding| evidence(finding, "bound"))
            .map(|bound| text(&bound["symbol"]).to_owned())
            .collect();
        let expected: BTreeSet<String> =
            Some(expected.to_owned()).into_iter().filter(|name| !name.is_empty()).collect();
        assert_eq!((&said, &refused), (&expected, &expected), "{main}");
    }
}

/// Files without PT_GNU_STACK, of machines by their numbers and `DEFAULT_STACK_PERMS` in glibc's
/// sysdeps/*/stackinfo.h.
#[test]
fn the_default_stack_of_machines() {
    // Machines of the class and byte order of x86-64: this one, MIPS and Alpha; AArch64, PowerPC64,
    // RISC-V, LoongArch and IA-64.
    let executable = [62, 8, 0x9026_u16];
    let others = [183, 21, 243, 258, 50];
    let lab = Lab::new();
    let mut expected = BTreeSet::new();
    for machine in executable.iter().chain(&others) {
        let mut bytes = Tiny::library("lib.so", [""; 0]).bytes();
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        let path = lab.write(&format!("lib/{machine}.so"), bytes);
        expected.extend(executable.contains(machine).then_some(path));
    }
    let report =
        Report::of(support::linkaudit().args(["-W", "executable-stack"]).arg(lab.path("lib")));
    let found: BTreeSet<PathBuf> = report.of_rule("executable-stack").map(whole_path).collect();
    assert_eq!(found, expected);
}

/// The rules of the group `hardening`.
const RULES: [&str; 4] = ["executable-stack", "missing-relro", "text-relocations", "writable-code"];

/// Program headers as readelf prints them.
#[test]
fn hardening_is_what_readelf_shows() {
    let lab = Lab::new();
    let source = "int data = 1; int *a(void) { return &data; }";
    lab.so("execstack.so", source, &["-Wl,-z,execstack"]);
    lab.so("norelro.so", source, &["-Wl,-z,norelro"]);
    lab.so("rwx.so", source, &["-nostdlib", "-Wl,-N"]);
    lab.so("textrel.so", source, &["-fno-pic", "-mcmodel=large", "-Wl,-z,notext"]);
    let mut files: Vec<PathBuf> = programs().into_iter().step_by(3).collect();
    files.extend(["execstack.so", "norelro.so", "rwx.so", "textrel.so"].map(|name| lab.path(name)));
    let report = Report::of(support::linkaudit().args(["-W", "hardening"]).args(&files));
    let mut said: BTreeMap<PathBuf, BTreeSet<&str>> = BTreeMap::new();
    for finding in report.findings() {
        if let Some(rule) = RULES.iter().find(|rule| finding["rule"] == **rule) {
            let file = Path::new(text(&finding["prefix"])).join(text(&finding["path"]));
            said.entry(file).or_default().insert(rule);
        }
    }
    let shown = |file: &PathBuf| -> BTreeSet<&str> {
        let output = clean("readelf").args(["-lWd"]).arg(file).output().expect("readelf runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let has = |what: &dyn Fn(&str) -> bool| text.lines().any(what);
        let mut out = BTreeSet::new();
        if has(&|line| line.contains("GNU_STACK") && line.contains("RWE"))
            || !has(&|l| l.contains("GNU_STACK"))
        {
            out.insert("executable-stack");
        }
        if !has(&|line| line.contains("GNU_RELRO")) {
            out.insert("missing-relro");
        }
        if has(&|line| line.contains("TEXTREL")) {
            out.insert("text-relocations");
        }
        if has(&|line| line.trim_start().starts_with("LOAD") && line.contains("RWE")) {
            out.insert("writable-code");
        }
        out
    };
    let none = BTreeSet::new();
    let mut differences = Vec::new();
    let mut count = 0;
    for file in &files {
        let (ours, theirs) = (said.get(file).unwrap_or(&none), shown(file));
        count += theirs.len();
        if *ours != theirs {
            differences.push(format!("{}: here {ours:?}, readelf {theirs:?}", file.display()));
        }
    }
    println!(
        "hardening: {} files, readelf shows {count}, {} differences",
        files.len(),
        differences.len()
    );
    assert!(count >= 4, "{count}");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
