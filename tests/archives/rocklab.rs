//! The defect that linkaudit was written for, with the real archives of LLVM, MLIR and lld. A
//! library that compiles a GPU kernel is linked from an archive that was merged from a list. The
//! list must have the archives from which lld extracts members (`--print-archive-stats`) if all are
//! given. From lists with missing archives, `fix` must come to the same list. With it the library
//! loads, and makes a code object for gfx90a.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;
use crate::support::random;

use random::Random;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;
use support::Lab;

const LLVM: &str = "/usr/lib/llvm-19";
/// The system libraries that LLVM's archives need.
const SYSTEM: &str = "-lz -lzstd -lxml2 -ltinfo -lz3 -lffi -lm";
/// Number of seeded lists besides those with a chosen defect; `LINKAUDIT_LISTS` changes it.
const SEEDS: u64 = 2;
/// Upper bound on seeded lists: each takes a link and a repair.
const MOST_SEEDS: u64 = 50;

fn sh(lab: &Lab, script: &str) -> String {
    let output = lab.sh(script);
    let (out, err) = (&output.stdout, &output.stderr);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{script}\n{}{}", text(out), text(err));
    text(out)
}

/// Compiles the sources into two archives, which stand for those of rocMLIR.
fn compile(lab: &Lab) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/archives/rocklab");
    let here = here.to_str().expect("a path in UTF-8");
    let flags = format!(
        "-std=c++17 -O1 -fPIC -fno-rtti -fno-exceptions -w -isystem {LLVM}/include -D_GNU_SOURCE \
         -D__STDC_CONSTANT_MACROS -D__STDC_FORMAT_MACROS -D__STDC_LIMIT_MACROS"
    );
    sh(
        lab,
        &format!(
            "mkdir own; c++ {flags} -c {here}/codegen.cpp -o codegen.o & \
             c++ {flags} -c {here}/kernel.cpp -o kernel.o; wait $!; \
             ar rcs own/libDemoKernel.a kernel.o; ar rcs own/libDemoCodegen.a codegen.o"
        ),
    );
    lab.cc(
        "load",
        "#include <dlfcn.h>\n\
         int main(int n, char **a) { void *l = dlopen(a[1], RTLD_NOW); if (!l) return 90;\n\
         int (*f)(char *, char *) = dlsym(l, \"kernel\"); return f ? f(a[2], a[3]) : 91; }",
        &[],
        &["-ldl"],
    );
}

/// The expected list: the archives from which lld extracts members if all are given.
fn oracle(lab: &Lab) -> BTreeSet<String> {
    sh(
        lab,
        &format!(
            "c++ -shared -fuse-ld=lld -Wl,-u,kernel -Wl,--print-archive-stats=stats -o all.so \
             own/*.a -Wl,--start-group {LLVM}/lib/*.a -Wl,--end-group {SYSTEM}"
        ),
    );
    let stats = std::fs::read_to_string(lab.path("stats")).expect("the statistics");
    let taken = stats.lines().skip(1).filter_map(|line| {
        let mut fields = line.split('\t');
        let (_, fetched, path) = (fields.next()?, fields.next()?, fields.next()?);
        let name = Path::new(path).file_name()?.to_str()?;
        let wanted = fetched.parse::<usize>().ok()? > 0 && path.starts_with(LLVM);
        wanted.then(|| name.strip_prefix("lib")?.strip_suffix(".a").map(str::to_owned))?
    });
    taken.collect()
}

fn list(names: &BTreeSet<String>) -> String {
    let mut out = String::from("### Generated\n### Sorted by bytes\nset(__llvm_libs\n");
    for name in names {
        let _ = writeln!(out, "{name}");
    }
    out + ")\nset(__own_libs\nDemoCodegen\nDemoKernel\n)\n"
}

/// Merges the archives of a list with `ar -M`, and links the library without complaint. It needs
/// all libraries of the system: without those that only absent members use, no fix would be
/// verified.
fn build(lab: &Lab, names: &BTreeSet<String>, dir: &str) {
    let mut script = format!("create {dir}/libfat.a\n");
    for name in ["DemoCodegen", "DemoKernel"] {
        let _ = writeln!(script, "addlib own/lib{name}.a");
    }
    for name in names {
        let _ = writeln!(script, "addlib {LLVM}/lib/lib{name}.a");
    }
    lab.mkdir(dir);
    lab.write("script", script + "save\nend\n");
    sh(
        lab,
        &format!(
            "rm -f {dir}/libfat.a; ar -M <script; \
             c++ -shared -fuse-ld=lld -Wl,-u,kernel -o {dir}/libkernel.so {dir}/libfat.a \
             -Wl,--no-as-needed {SYSTEM}"
        ),
    );
}

/// Runs `linkaudit fix` with LLVM's archives in `llvm`; returns the exit status and all output.
fn fix(lab: &Lab, llvm: &str) -> (Option<i32>, String) {
    let places = ["--lib-path", "b", "--lib-path", "own", "--lib-path", llvm];
    let list = ["--deps-list", "deps.cmake", "--emit", "cmake-deps"];
    let outputs = ["-o", "cmake-deps=new.cmake", "-o", "json=report.json"];
    let run = lab.linkaudit(&[&["fix", "b/libkernel.so"], &places[..], &list, &outputs].concat());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (run.status.code(), text(&run.stdout) + &text(&run.stderr))
}

/// Without Polly's archives there is no fix for names that only they define, and the list stays as
/// it is.
fn not_installed(lab: &Lab, broken: &BTreeSet<String>) {
    build(lab, broken, "b");
    lab.write("deps.cmake", list(broken));
    let before = lab.undefined("b/libkernel.so");
    sh(lab, &format!("mkdir rest; ln -s {LLVM}/lib/*.a rest; rm rest/libPolly*.a"));
    let (status, out) = fix(lab, "rest");
    assert_eq!(status, Some(1), "{out}");
    assert!(!before.is_empty());
    for symbol in &before {
        assert!(out.contains(&format!("no candidate defines {symbol}\n")), "{out}");
    }
    assert_eq!(out.matches("no candidate").count(), before.len(), "{out}");
    let new = std::fs::read_to_string(lab.path("new.cmake")).expect("the new list");
    assert!(new == list(broken), "{new}");
    println!("rocklab: {} undefined without a candidate", before.len());
}

/// Builds from a broken list and repairs it; returns the new list and the number of undefined
/// names.
fn repair(lab: &Lab, broken: &BTreeSet<String>) -> (String, usize) {
    build(lab, broken, "b");
    let before = lab.undefined("b/libkernel.so");
    lab.write("deps.cmake", list(broken));
    let start = Instant::now();
    let (status, out) = fix(lab, "/usr/lib/llvm-19/lib");
    let took = start.elapsed();
    assert_eq!(status, Some(0), "{out}");
    let report = std::fs::read(lab.path("report.json")).expect("the report");
    let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
    let findings = report["findings"].as_array().expect("findings").iter();
    let ours: BTreeSet<String> = findings
        .filter(|finding| finding["rule"] == "undefined-symbol")
        .map(|finding| finding["symbol"].as_str().expect("a symbol").to_owned())
        .collect();
    assert_eq!(ours, before, "what is undefined");
    println!("rocklab: {} repaired in {took:?}", before.len());
    let new = std::fs::read_to_string(lab.path("new.cmake")).expect("the new list");
    (new, before.len())
}

#[test]
fn lists_of_real_archives() {
    let needed = ["c++", "ld.lld", "ar"];
    let headers = Path::new(LLVM).join("include/mlir/IR/MLIRContext.h").is_file();
    if !headers || needed.iter().any(|program| !support::has(program)) {
        return support::skip("lists_of_real_archives", "needs LLVM, MLIR and lld 19 with headers");
    }
    let lab = Lab::new();
    compile(&lab);
    let good = oracle(&lab);
    assert!(good.len() > 100, "{good:?}");
    let x86 = ["LLVMX86AsmParser", "LLVMX86CodeGen", "LLVMX86Desc", "LLVMX86Info"];
    let without = |gone: &dyn Fn(&str) -> bool| -> BTreeSet<String> {
        good.iter().filter(|name| !gone(name)).cloned().collect()
    };
    let is_target = |name: &str| {
        let rest = name.strip_prefix("LLVM").filter(|rest| !rest.starts_with("AMDGPU"));
        let ends = ["CodeGen", "Desc", "Info", "AsmParser", "Utils"];
        // LLVMCodeGen, LLVMAsmParser and LLVMTransformUtils do not belong to a target.
        let target = |rest: &str| {
            ends.iter().any(|end| rest.len() > end.len() && rest.ends_with(end))
                && Path::new(LLVM).join(format!("lib/lib{name}.a")).is_file()
                && good.contains(&format!("LLVM{}Info", trimmed(rest, &ends)))
        };
        rest.is_some_and(target)
    };
    // The birth case: the five symbols, the four archives.
    let (new, count) = repair(&lab, &without(&|name| x86.contains(&name)));
    assert_eq!((count, new == list(&good)), (5, true), "{new}");
    // The library that the new list makes loads, and works.
    build(&lab, &good, "g");
    assert_eq!(lab.undefined("g/libkernel.so"), BTreeSet::new());
    sh(&lab, "./load g/libkernel.so kernel.o kernel.hsaco");
    let code = std::fs::read(lab.path("kernel.hsaco")).expect("a code object");
    assert_eq!((&code[..4], code[18], code[48]), (&b"\x7fELF"[..], 224, 0x3f), "gfx90a");
    sh(&lab, "rm -r g");
    let mut lists = 1;
    for broken in [
        without(&is_target),
        without(&|name| name.starts_with("Polly")),
        without(&|name| name.starts_with("MLIR")),
    ] {
        assert_ne!(broken, good);
        let (new, _) = repair(&lab, &broken);
        assert!(new == list(&good), "{new}");
        lists += 1;
    }
    not_installed(&lab, &without(&|name| name.starts_with("Polly")));
    let most = usize::try_from(MOST_SEEDS).expect("small");
    for seed in random::seeds("LINKAUDIT_LISTS", SEEDS).take(most) {
        let mut random = Random::new(seed);
        let share = 3 + 30 * usize::try_from(seed % 2).expect("small");
        let broken: BTreeSet<String> =
            good.iter().filter(|_| !random.chance(share)).cloned().collect();
        let (new, _) = repair(&lab, &broken);
        assert!(new == list(&good), "seed {seed}: {new}");
        lists += 1;
    }
    println!("rocklab: {lists} lists of {} archives, 0 differences to lld", good.len());
}

/// A name without the first of `ends` that matches its end.
fn trimmed<'n>(name: &'n str, ends: &[&str]) -> &'n str {
    ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}
