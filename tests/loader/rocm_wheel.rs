//! A library of half a gigabyte from a published wheel, without the libraries that it needs:
//! missing libraries are reported, symbols that these explain are not, and few bytes are read.
//!
//! The wheel comes from the package index, pinned by its hash; `LINKAUDIT_WHEEL` names a copy that
//! is used instead.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use crate::support::report;
use crate::support::strace;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use report::{Report, evidence, text, whole_path};
use serde_json::Value;
use support::{Lab, skip};

const REQUIREMENT: &str = "onnxruntime-rocm==1.22.2.post3 \
    --hash=sha256:705596b48933446ae6766921c5c8a46ef42f0c735bf158b6eb44a60bf7f95230\n";
const LIBRARY: &str = "libonnxruntime_providers_rocm.so";
/// The missing libraries, in byte order.
const MISSING: [&str; 6] = [
    "libMIOpen.so.1",
    "libamdhip64.so.7",
    "libhipblas.so.3",
    "libhipfft.so.0",
    "librocm_smi64.so.1",
    "libroctracer64.so.4",
];
/// Number of references that no file of the wheel defines, equal to that of `ldd -r`.
const EXPLAINED: usize = 130;
/// Some of these references. A reference with a version is explained by the library of that version
/// (`readelf -W -V`), one without a version by the first missing library.
const SOME: [(&str, Option<&str>, &str); 6] = [
    ("hipMemcpyAsync", Some("hip_4.2"), "libamdhip64.so.7"),
    ("hipGraphDestroy", Some("hip_4.3"), "libamdhip64.so.7"),
    ("hipLaunchHostFunc", Some("hip_5.3"), "libamdhip64.so.7"),
    ("hipGetDevicePropertiesR0600", Some("hip_6.0"), "libamdhip64.so.7"),
    ("miopenConvolutionForward", Some("MIOPEN_HIP_1"), "libMIOpen.so.1"),
    ("hipblasCreate", None, "libhipblas.so.3"),
];
const MOST_BYTES: u64 = 2 << 20;
/// Bytes read with the notes of 760 code objects, which name their kernels.
const MOST_WITH_DEVICE_CODE: u64 = 128 << 20;

#[test]
fn rocm_wheel() {
    let lab = Lab::new();
    let Some(wheel) = wheel(&lab) else { return };
    let tree = lab.mkdir("tree");
    let unpacked = support::clean("python3")
        .args(["-m", "zipfile", "-e"])
        .args([&wheel, &tree])
        .status()
        .expect("python3 runs");
    assert!(unpacked.success(), "the wheel cannot be unpacked");
    let library = tree.join("onnxruntime/capi").join(LIBRARY);
    let size = library.metadata().expect("the library is in the wheel").len();
    assert!(size > 500_000_000, "{size} bytes: this is another wheel");

    for path in [&tree, &library] {
        let report = Report::of(support::linkaudit().arg(path));
        six_are_missing(&report, &library);
        the_rest_is_explained(&report, &library);
    }
    as_ldd_counts(&library);
    little_is_read(&lab, &library, (&["--allow", "gpu"], MOST_BYTES));
    little_is_read(&lab, &library, (&[], MOST_WITH_DEVICE_CODE));
}

fn six_are_missing(report: &Report, library: &Path) {
    let mut missing: Vec<&str> = report
        .of_rule("missing-library")
        .filter(|finding| whole_path(finding) == library)
        .map(|finding| text(&finding["library"]))
        .collect();
    missing.sort_unstable();
    assert_eq!(missing, MISSING, "{}", report.outline());
    assert_eq!(report.status, 1);
}

fn the_rest_is_explained(report: &Report, library: &Path) {
    let undefined: Vec<&Value> = report
        .of_rule("undefined-symbol")
        .filter(|finding| whole_path(finding) == library)
        .map(|finding| &finding["symbol"])
        .collect();
    assert!(undefined.is_empty(), "a missing library may define them: {undefined:?}");
    assert_eq!(report.total("explained"), EXPLAINED as u64);

    // No reference is explained twice.
    let mut explained: BTreeMap<(&str, Option<&str>), &str> = BTreeMap::new();
    for finding in report.of_rule("missing-library") {
        let library = text(&finding["library"]);
        for entry in evidence(finding, "explained") {
            let reference = (text(&entry["symbol"]), entry["version"].as_str());
            let before = explained.insert(reference, library);
            assert_eq!(before, None, "{reference:?} is explained by {library} too");
        }
    }
    assert_eq!(explained.len(), EXPLAINED, "evidence names all that is counted");
    for (symbol, version, library) in SOME {
        let by = explained.get(&(symbol, version));
        assert_eq!(by, Some(&library), "{symbol} {version:?}");
    }
}

/// `ldd` has no explanations: it prints all references.
fn as_ldd_counts(library: &Path) {
    let run = support::linkaudit().args(["--as-ldd", "--format", "ldd"]).arg(library).output();
    let ours = run.expect("linkaudit runs").stdout;
    let theirs = support::ldd_r(Path::new("/"), library.as_os_str());
    assert_eq!(support::difference(&String::from_utf8_lossy(&ours), &theirs), None);
    assert_eq!(theirs.matches("undefined symbol: ").count(), EXPLAINED, "{theirs}");
}

fn little_is_read(lab: &Lab, library: &Path, (more, most): (&[&str], u64)) {
    if !support::has("strace") {
        return skip("rocm_wheel", "there is no strace");
    }
    let file = library.to_str().expect("a path in UTF-8");
    let args = [&["--format", "json", "-o", "human=human", file], more].concat();
    let (_, calls) = strace::linkaudit(&lab.root(), &args, "read,readv,pread64,preadv,mmap");
    let of_file = |call: &&String| call.contains(&format!("<{file}>"));
    let read: u64 = calls
        .iter()
        .filter(of_file)
        .map(|call| {
            assert_ne!(strace::name(call), "mmap", "an audited file is never mapped: {call}");
            strace::result(call).unwrap_or(0)
        })
        .sum();
    println!("rocm wheel: {read} bytes read of the library");
    assert!((4096..most).contains(&read), "{read} bytes read");
}

/// The wheel, if it is given or can be fetched.
fn wheel(lab: &Lab) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("LINKAUDIT_WHEEL") {
        return Some(PathBuf::from(path));
    }
    lab.write("requirements", REQUIREMENT);
    let run = support::clean("python3")
        .current_dir(lab.root())
        .args(["-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"])
        .args(["--only-binary=:all:", "--implementation=cp", "--python-version=3.11"])
        .args(["--abi=cp311", "--platform=manylinux_2_34_x86_64"])
        .args(["--dest=wheels", "--requirement=requirements"])
        .output();
    let failure = match run {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Some(error.to_string()),
    };
    if let Some(reason) = failure {
        skip("rocm_wheel", &format!("the wheel cannot be fetched: {reason}"));
        return None;
    }
    let mut wheels = lab.path("wheels").read_dir().expect("pip made the directory");
    Some(wheels.next().expect("pip fetched the wheel").expect("a file").path())
}
