//! Every built-in policy can be passed: a good prefix for each gets exit status 0.

use super::{audit, lab, library};
use linkaudit::policy::{Libc, built_in_platforms, builtin};

/// Files that the policy `rocm` requires.
const ROCM: [&str; 5] = [
    "lib/amdgcn/bitcode/ocml.bc",
    "lib/amdgcn/bitcode/ockl.bc",
    "lib/amdgcn/bitcode/oclc_isa_version_90a.bc",
    "lib/rocblas/library/TensileLibrary_gfx90a.dat",
    "lib/cmake/composable_kernel/device_gemm_operationsTargets.cmake",
];

#[test]
fn every_built_in_policy_can_be_passed() {
    let glibc = lab();
    library(&glibc, "lib/libgood.so", &["puts"], &["libc.so.6"], &["-Wl,-soname,libgood.so"]);
    for file in ROCM {
        glibc.write(&format!("p/{file}"), "");
    }
    let musl = lab();
    library(&musl, "lib/libgood.so", &["puts"], &["libc.musl-x86_64.so.1"], &[]);
    let names = |libc| built_in_platforms(libc).into_iter().map(|platform| platform.name);
    let aliases = ["manylinux1", "manylinux2010", "manylinux2014", "manylinux2014_x86_64"];
    let of_glibc = builtin::BUILT_IN.iter().map(|policy| policy.name.to_owned());
    let of_glibc = of_glibc.chain(names(Libc::Glibc)).chain(aliases.map(str::to_owned));
    let mut passed = 0;
    let cases = of_glibc.map(|name| (name, &glibc)).chain(names(Libc::Musl).map(|n| (n, &musl)));
    for (name, lab) in cases {
        let report = audit(lab, &name, &[]);
        let (findings, waived) = (&report.value["findings"], &report.value["waived"]);
        assert_eq!(report.status, 0, "{name}: {findings:#}");
        assert!(report.complete() && waived.as_array().is_some_and(Vec::is_empty), "{name}");
        passed += 1;
    }
    assert_eq!(passed, builtin::BUILT_IN.len() + 16 + 4 + 2);
    println!("{passed} built-in policies passed");
}

#[test]
fn platforms_are_those_of_auditwheel() {
    let arches = |libc| {
        let all = built_in_platforms(libc).into_iter();
        all.map(|platform| (platform.name, platform.rules.len())).collect::<Vec<_>>()
    };
    let expected = [
        ("manylinux_2_5", 2),
        ("manylinux_2_12", 2),
        ("manylinux_2_17", 7),
        ("manylinux_2_24", 6),
        ("manylinux_2_26", 6),
        ("manylinux_2_27", 6),
        ("manylinux_2_28", 6),
        ("manylinux_2_31", 7),
        ("manylinux_2_34", 7),
        ("manylinux_2_35", 7),
        ("manylinux_2_36", 8),
        ("manylinux_2_37", 8),
        ("manylinux_2_38", 8),
        ("manylinux_2_39", 8),
        ("manylinux_2_40", 8),
        ("manylinux_2_41", 8),
    ];
    let expected = expected.map(|(name, count)| (name.to_owned(), count));
    assert_eq!(arches(Libc::Glibc), expected);
    let musl = [("musllinux_1_1".to_owned(), 7), ("musllinux_1_2".to_owned(), 8)];
    assert_eq!(arches(Libc::Musl), musl);
}
