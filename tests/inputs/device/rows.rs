//! Real failures of ROCm packages, each as a small prefix with the failure and one without: the
//! rows of `docs/rocm.md` that are visible in an install prefix. The page must name the rule of
//! each row.

use super::device;
use crate::support::{self, Lab};
use serde_json::Value;
use std::collections::BTreeSet;

/// A row: its number, the rule, and the two prefixes. `build` gets true for the bad one and returns
/// the options of linkaudit.
struct Row {
    number: u32,
    rule: &'static str,
    build: fn(&Lab, bool) -> Vec<&'static str>,
}

const ROWS: &[Row] = &[
    Row { number: 3, rule: "gpu-target-missing", build: ignored_list },
    Row { number: 7, rule: "gpu-bundle-unloadable", build: compressed },
    Row { number: 8, rule: "gpu-bundle-unloadable", build: hidden },
    Row { number: 9, rule: "gpu-bundle-unloadable", build: misread },
    Row { number: 10, rule: "gpu-target-missing", build: no_code },
    Row { number: 11, rule: "image-span", build: large },
    Row { number: 12, rule: "gpu-data-missing", build: no_tensile },
    Row { number: 22, rule: "missing-library", build: another_major },
    Row { number: 23, rule: "gpu-target-incoherent", build: incoherent },
    Row { number: 24, rule: "gpu-object-mismatch", build: booleans },
];

#[test]
fn rows_are_found_and_their_twins_are_clean() {
    let page = include_str!("../../../docs/rocm.md");
    let mut cases = 0;
    for row in ROWS {
        for bad in [true, false] {
            let lab = Lab::new();
            let options = (row.build)(&lab, bad);
            let run = support::linkaudit()
                .current_dir(lab.root())
                .args(["p", "--isolated", "--format", "json"])
                .args(options)
                .output()
                .expect("linkaudit runs");
            let report: Value = serde_json::from_slice(&run.stdout).expect("a report");
            let findings = report["findings"].as_array().expect("findings");
            let rules: BTreeSet<&str> =
                findings.iter().filter_map(|f| f["rule"].as_str()).collect();
            let expected: BTreeSet<&str> = bad.then_some(row.rule).into_iter().collect();
            assert_eq!(rules, expected, "row {} {bad}: {findings:#?}", row.number);
            cases += 1;
        }
        let line = page.lines().find(|line| line.starts_with(&format!("| {} |", row.number)));
        let line = line.unwrap_or_else(|| panic!("docs/rocm.md has no row {}", row.number));
        assert!(line.contains(row.rule), "row {}: {line}", row.number);
    }
    for number in 1..=26 {
        assert!(page.contains(&format!("\n| {number} |")), "docs/rocm.md has no row {number}");
    }
    println!("failures of ROCm: {cases} prefixes, 0 differences");
}

/// A prefix that passes the policies of ROCm, and the same without a GPU of the release.
#[test]
fn a_good_prefix_passes_the_policies_of_rocm() {
    let all = ["gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1101", "gfx1200", "gfx1201"];
    for (built, status) in [(&all[..], 0), (&all[..7], 1)] {
        let lab = Lab::new();
        runtime(&lab, "6.4.43484");
        library(&lab, "libkernels.so", &device::bundle(built, 4096), &[]);
        for file in [
            "amdgcn/bitcode/ocml.bc",
            "amdgcn/bitcode/ockl.bc",
            "amdgcn/bitcode/oclc_isa_version_1030.bc",
            "lib/cmake/composable_kernel/composable_kernelutilityTargets.cmake",
            "lib/rocblas/library/TensileLibrary.dat",
        ] {
            lab.write(&format!("p/{file}"), "x");
        }
        let run = support::linkaudit()
            .current_dir(lab.root())
            .args(["p", "--isolated", "--policy", "rocm", "--policy", "rocm-6.4.3"])
            .output()
            .expect("linkaudit runs");
        let out = String::from_utf8_lossy(&run.stdout);
        assert_eq!(run.status.code(), Some(status), "{out}");
        assert_eq!(out.contains("no code for gfx1201"), status == 1, "{out}");
    }
}

/// A HIP runtime of this version.
pub(super) fn runtime(lab: &Lab, version: &str) {
    let source = "void __hipRegisterFatBinary(const void *p) { (void)p; }";
    let file = format!("p/lib/libamdhip64.so.{version}");
    let major = version.split('.').next().expect("a major version");
    lab.so(&file, source, &[&format!("-Wl,-soname,libamdhip64.so.{major}")]);
    if version != major {
        lab.link(&format!("libamdhip64.so.{version}"), &format!("p/lib/libamdhip64.so.{major}"));
    }
}

/// A library that registers a bundle.
pub(super) fn library(lab: &Lab, name: &str, bundle: &[u8], flags: &[&str]) {
    let part = lab.write(&format!("parts/{name}"), bundle);
    let source = device::host_source("work", &[&part.display().to_string()]);
    let runtime = lab.path("p/lib").read_dir().expect("p/lib").flatten().map(|e| e.file_name());
    let runtime = runtime.filter(|n| n.to_string_lossy().starts_with("libamdhip64")).min();
    let runtime = format!("-l:{}", runtime.expect("a runtime").to_string_lossy());
    let soname = format!("-Wl,-soname,{name}");
    let all = ["-Lp/lib", "-Wl,--no-as-needed", &runtime, "-Wl,-rpath,$ORIGIN", &soname];
    lab.so(&format!("p/lib/{name}"), &source, &[&all, flags].concat());
}

pub(super) fn policy(lab: &Lab, gpu: &str) -> Vec<&'static str> {
    lab.write("gpu.toml", format!("schema = 1\n[gpu]\n{gpu}\n"));
    vec!["--policy", "gpu.toml"]
}

fn ignored_list(lab: &Lab, bad: bool) -> Vec<&'static str> {
    runtime(lab, "6");
    let built: &[&str] = if bad { &["gfx908", "gfx90a", "gfx942"] } else { &["gfx90a"] };
    library(lab, "libdevice_ops.so", &device::bundle(built, 4096), &[]);
    policy(lab, "targets = [\"gfx90a\"]\nexact = true")
}

fn compressed(lab: &Lab, bad: bool) -> Vec<&'static str> {
    runtime(lab, "6.0.32830");
    let plain = device::bundle(&["gfx90a"], 4096);
    let bundle = if bad { device::ccob(&plain, 2, "zstd") } else { plain };
    library(lab, "libkernels.so", &bundle, &[]);
    Vec::new()
}

fn hidden(lab: &Lab, bad: bool) -> Vec<&'static str> {
    runtime(lab, "6.2.41134");
    let plain = device::bundle(&["gfx1030"], 4096);
    let bundle = if bad { device::ccob(&plain, 2, "zstd") } else { plain };
    library(lab, "libkernels.so", &bundle, &[]);
    policy(lab, "targets = [\"gfx1031\"]\nloader = \"debian\"")
}

fn misread(lab: &Lab, bad: bool) -> Vec<&'static str> {
    runtime(lab, "6.2.41134");
    let version = if bad { 1 } else { 2 };
    let bundle = device::ccob(&device::bundle(&["gfx90a"], 4096), version, "zlib");
    library(lab, "libkernels.so", &bundle, &[]);
    Vec::new()
}

fn no_code(lab: &Lab, bad: bool) -> Vec<&'static str> {
    runtime(lab, "6");
    let built: &[&str] = if bad { &["gfx90a"] } else { &["gfx90a", "gfx1030"] };
    library(lab, "libonnxruntime_providers_rocm.so", &device::bundle(built, 4096), &[]);
    policy(lab, "targets = [\"gfx1030\"]")
}

fn large(lab: &Lab, bad: bool) -> Vec<&'static str> {
    let mib = if bad { 1600 } else { 16 };
    lab.so(
        "p/lib/liblarge.so",
        &format!("char data[{mib}UL << 20];"),
        &["-Wl,-soname,liblarge.so"],
    );
    vec!["--warn", "image-span"]
}

fn no_tensile(lab: &Lab, bad: bool) -> Vec<&'static str> {
    runtime(lab, "6");
    library(lab, "librocblas.so.4", &device::bundle(&["gfx90a"], 4096), &[]);
    if !bad {
        let dir = "p/lib/rocblas/library";
        let name = "TensileLibrary_Type_HH_gfx90a";
        lab.write(&format!("{dir}/TensileLibrary_lazy_gfx90a.dat"), device::index(&[name]));
        lab.write(&format!("{dir}/{name}.dat"), "x");
        lab.write(&format!("{dir}/{name}.co"), device::code_object("gfx90a"));
    }
    Vec::new()
}

fn another_major(lab: &Lab, bad: bool) -> Vec<&'static str> {
    let soname = if bad { "libhipblas.so.3" } else { "libhipblas.so.2" };
    let flags = [&*format!("-Wl,-soname,{soname}")];
    lab.so("p/lib/libhipblas.so.2", "int hipblasCreate(void) { return 0; }", &flags);
    let source = "int hipblasCreate(void); int f(void) { return hipblasCreate(); }";
    let flags = ["-Lp/lib", "-l:libhipblas.so.2", "-Wl,-rpath,$ORIGIN", "-Wl,-soname,libort.so"];
    lab.so("p/lib/libort.so", source, &flags);
    let flags = ["-Wl,-soname,libhipblas.so.2"];
    lab.so("p/lib/libhipblas.so.2", "int hipblasCreate(void) { return 0; }", &flags);
    Vec::new()
}

fn incoherent(lab: &Lab, bad: bool) -> Vec<&'static str> {
    runtime(lab, "6");
    let built: &[&str] = if bad { &["gfx90a"] } else { &["gfx90a", "gfx1030"] };
    library(lab, "libmath.so", &device::bundle(built, 4096), &[]);
    library(lab, "libapp.so", &device::bundle(&["gfx90a", "gfx1030"], 4096), &["-l:libmath.so"]);
    Vec::new()
}

fn booleans(lab: &Lab, bad: bool) -> Vec<&'static str> {
    let second = if bad { None } else { Some("Y") };
    let kernels = [Some("N_kernel"), second];
    lab.write("p/db/kernel.co", device::code_object_with("gfx908", "gfx908", &kernels));
    Vec::new()
}
