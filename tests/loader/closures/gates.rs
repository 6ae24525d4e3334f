//! The policies of distributions and of ROCm as gates: a good prefix passes, and each violation of
//! a line of the policy fails. Good prefixes for all policies are in `platforms`.

use super::report::{Report, text};
use super::store::{LOADER, Store, item};
use crate::support::{Lab, linkaudit};

const FOO: &str = "int foo(void) { return 1; }";

/// Rules of a run under a policy.
fn rules(lab: &Lab, policy: &str, dir: &str) -> Vec<String> {
    let mut command = linkaudit();
    command.current_dir(lab.root()).args([
        "--isolated",
        "--policy",
        policy,
        dir,
        "-A",
        "search-path",
    ]);
    let report = Report::of(&mut command);
    let mut rules: Vec<String> = report.findings().map(|f| text(&f["rule"]).to_owned()).collect();
    rules.sort();
    rules.dedup();
    assert_eq!(report.status, i32::from(!rules.is_empty()), "{}", report.outline());
    rules
}

/// A library with a search path, under each policy.
#[test]
fn search_paths() {
    let good = [
        ("nix", "/nix/store/0123456789abcdfghijklmnpqrsvwxyz-zlib-1/lib"),
        ("nix", "$ORIGIN/../lib"),
        ("nix", "/run/opengl-driver/lib"),
        ("nix", "/run/opengl-driver-32/lib"),
        ("guix", "/gnu/store/0123456789abcdfghijklmnpqrsvwxyz-zlib-1/lib"),
        ("guix", "$ORIGIN"),
        ("debian", "/usr/lib/x86_64-linux-gnu/foo"),
        ("debian", "/usr/libexec/foo"),
        ("debian", "$ORIGIN/../foo"),
        ("gentoo", "/usr/lib64/llvm/17/lib64"),
        ("gentoo", "/usr/lib/gcc"),
        ("gentoo", "/usr/libexec/foo"),
        ("gentoo", "/lib/foo"),
        ("gentoo", "/lib64/foo"),
        ("gentoo", "/opt/foo/lib"),
        ("gentoo", "$ORIGIN"),
    ];
    let bad = [
        ("nix", "/usr/lib/foo"),
        ("nix", "/build/source/lib"),
        ("guix", "/nix/store/0123456789abcdfghijklmnpqrsvwxyz-zlib-1/lib"),
        ("guix", "/tmp/guix-build-foo/lib"),
        ("debian", "/usr/local/lib"),
        ("debian", "/opt/foo/lib"),
        ("debian", "/build/foo-1.0/debian/tmp/usr/lib"),
        ("gentoo", "/var/tmp/portage/dev-libs/foo-1/image/usr/lib64"),
        ("gentoo", "/usr/local/lib"),
    ];
    let cases = good.iter().map(|case| (case, false)).chain(bad.iter().map(|case| (case, true)));
    let mut count = 0;
    for ((policy, path), is_fault) in cases {
        let lab = Lab::new();
        lab.so("p/lib/libfoo.so.1", FOO, &["-nostdlib", &format!("-Wl,-rpath,{path}")]);
        let found = rules(&lab, policy, "p");
        let is_found = found.contains(&"search-path-policy".to_owned());
        assert_eq!(is_found, is_fault, "{policy} {path}: {found:?}");
        count += 1;
    }
    println!("search paths of policies: {count} cases, 0 differences");
}

/// Parts of a driver exist only on the machine with the GPU, and are not findings.
#[test]
fn libraries_of_drivers() {
    let store = Store::new();
    let glibc = format!("{}/lib", item("glibc-2.36"));
    for name in ["libcuda.so.1", "libnvidia-ml.so.1", "libnvcuvid.so.1", "libnvidia-encode.so.1"] {
        store.lab.so("build/driver.so", FOO, &[&format!("-Wl,-soname,{name}")]);
        let app = item("app-1.0");
        let (interp, path) =
            (format!("-Wl,--dynamic-linker,{glibc}/{LOADER}"), format!("-Wl,-rpath,{glibc}"));
        let flags = ["-Wl,--no-as-needed", "build/driver.so", &interp, &path];
        let source = "int foo(void); int main(void) { return foo(); }";
        store.lab.exe(&format!("r{app}/bin/app"), source, &flags);
        let report = store.audit(&["--policy", "nix", &app]);
        assert_eq!(report.findings().count(), 0, "{name}: {}", report.outline());
        assert_eq!(store.audit(&[&app]).status, 1, "without the policy it is missing");
    }
}

/// Files that the policy `rocm` requires in a prefix.
const ROCM: [&str; 5] = [
    "lib/llvm/lib/clang/17/lib/amdgcn/bitcode/ocml.bc",
    "lib/llvm/lib/clang/17/lib/amdgcn/bitcode/ockl.bc",
    "lib/llvm/lib/clang/17/lib/amdgcn/bitcode/oclc_isa_version_900.bc",
    "lib/rocblas/library/TensileLibrary_gfx900.dat",
    "lib/cmake/composable_kernel/composable_kernelutilityTargets.cmake",
];

fn rocm(without: Option<&str>) -> Lab {
    let lab = Lab::new();
    for file in ROCM.iter().filter(|file| Some(**file) != without) {
        lab.write(&format!("p/{file}"), "");
    }
    lab.so("p/lib/libMIOpen.so.1", FOO, &["-nostdlib", "-Wl,-soname,libMIOpen.so.1"]);
    lab
}

#[test]
fn a_rocm_prefix() {
    assert_eq!(rules(&rocm(None), "rocm", "p"), [""; 0]);
    for file in ROCM {
        assert_eq!(rules(&rocm(Some(file)), "rocm", "p"), ["required-file"], "{file}");
    }
    let lab = rocm(None);
    lab.so("p/lib/libunwind.so.1", FOO, &["-nostdlib", "-Wl,-soname,libunwind.so.1"]);
    let flags = ["-nostdlib", "-Wl,--no-as-needed", "p/lib/libunwind.so.1", "-Wl,-rpath,$ORIGIN"];
    lab.so("p/lib/libhip.so", "int hip(void) { return 1; }", &flags);
    assert_eq!(rules(&lab, "rocm", "p"), ["forbidden-library"]);
    let lab = rocm(None);
    let llvm = "int _ZN4llvm4nameEv(void) { return 1; }";
    lab.so("p/lib/libMIOpen.so.1", llvm, &["-nostdlib", "-Wl,-soname,libMIOpen.so.1"]);
    assert_eq!(rules(&lab, "rocm", "p"), ["forbidden-symbol"]);
    println!("rocm: {} faults, all found", ROCM.len() + 2);
}
