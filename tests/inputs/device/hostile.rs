//! Odd and lying device code, data and questions, each with the defect that must be named, beside
//! forms that look odd and are sound.

use super::rows::{library, policy, runtime};
use super::{DEEP, LISTING, device, read, targets};
use crate::support::{self, Lab};
use linkaudit::format::gpu::TargetId;
use serde_json::Value;

/// The bytes of a bundle whose only entry for a GPU is at `offset` with `size`.
fn lying(offset: u64, size: u64) -> Vec<u8> {
    let mut bytes = device::bundle(&["gfx90a"], 4096);
    let at = 32 + 24 + "host-x86_64-unknown-linux-gnu-".len();
    bytes[at..at + 8].copy_from_slice(&offset.to_le_bytes());
    bytes[at + 8..at + 16].copy_from_slice(&size.to_le_bytes());
    bytes
}

fn with_entry(target: &str, content: &[u8]) -> Vec<u8> {
    device::bundle_of(&[(target, content)], 4096)
}

#[test]
fn entries_hold_code() {
    let host = std::fs::read("/proc/self/exe").expect("this program")[..4096].to_vec();
    let other = device::bundle(&["gfx90a"], 4096);
    let cases: [(&str, Vec<u8>, Option<&str>); 10] = [
        ("at the begin of the bundle", lying(0, 100), Some("begins inside the table of entries")),
        ("inside the table", lying(40, 100), Some("begins inside the table of entries")),
        ("empty", lying(4096, 0), Some("is empty")),
        ("inside another", lying(4100, 100), Some("holds no code object")),
        ("text", with_entry("gfx90a", &[b'x'; 200]), Some("holds no code object")),
        ("too short", with_entry("gfx90a", b"\x7fELF"), Some("holds no code object")),
        ("a host program", with_entry("gfx90a", &host), Some("holds no code object")),
        ("a bundle", with_entry("gfx90a", &other), Some("holds no code object")),
        ("bitcode", with_entry("gfx90a", b"BC\xc0\xde...."), None),
        ("SPIR-V", with_entry("amdgcnspirv", b"\x03\x02\x23\x07...."), None),
    ];
    let mut count = 0;
    for (name, plain, expected) in &cases {
        // Tables of compressed bundles are read without their entries, and whole on request.
        for (bytes, depth) in [(plain.clone(), LISTING), (device::ccob(plain, 3, "zstd"), DEEP)] {
            let found = read(&bytes, depth);
            let faults: Vec<&str> = found.faults.iter().map(|fault| fault.what).collect();
            assert_eq!(faults, expected.iter().copied().collect::<Vec<_>>(), "{name}: {depth:?}");
            count += 1;
        }
    }
    println!("odd entries of bundles: {count} cases, 0 differences");
}

/// The rules and messages of an audit of `p`.
fn findings(lab: &Lab, options: &[&str]) -> Vec<(String, String)> {
    let run = support::linkaudit()
        .current_dir(lab.root())
        .args(["p", "--isolated", "--format", "json"])
        .args(options)
        .output()
        .expect("linkaudit runs");
    let report: Value = serde_json::from_slice(&run.stdout).expect("a report");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let all = report["findings"].as_array().expect("findings").iter();
    all.map(|one| (text(&one["rule"]), text(&one["message"]))).collect()
}

#[test]
fn code_objects_do_not_contradict_themselves() {
    let flag = |at: usize, byte: u8| {
        let mut bytes = device::code_object("gfx10-3-generic");
        bytes[at] = byte;
        bytes
    };
    let noted = |name: &str| device::code_object_with("gfx90a", name, &[Some("kernel")]);
    let cases: [(&str, Vec<u8>, Option<&str>); 6] = [
        ("no generic version", flag(51, 0), Some("generic code without a version")),
        // Before version 6, these bits of the flags are not a version.
        ("generic of version 5", flag(8, 3), Some("generic code without a version")),
        ("generic", device::code_object("gfx10-3-generic"), None),
        ("unknown notes", noted("nonsense"), Some("has notes for amdgcn-amd-amdhsa--nonsense")),
        ("other settings", noted("gfx90a:xnack-"), None),
        ("sound", noted("gfx90a"), None),
    ];
    for (name, bytes, expected) in cases {
        let lab = Lab::new();
        lab.write("p/one.co", bytes);
        let found = findings(&lab, &[]);
        let messages: Vec<&String> = found.iter().map(|(_, message)| message).collect();
        match expected {
            None => assert!(messages.is_empty(), "{name}: {messages:?}"),
            Some(text) => {
                assert_eq!(messages.len(), 1, "{name}: {messages:?}");
                assert!(messages[0].contains(text), "{name}: {messages:?}");
            }
        }
    }
}

/// ROCm 6.0 is older than version 6 of code objects, which all generic ones have.
#[test]
fn old_runtimes_do_not_read_new_code_objects() {
    for (version, target, bad) in [
        ("6.0.32830", "gfx10-3-generic", true),
        ("5.7.31921", "gfx10-3-generic", true),
        ("6.0.32830", "gfx90a", false),
        ("6.4.43484", "gfx10-3-generic", false),
        ("6", "gfx10-3-generic", false),
    ] {
        let lab = Lab::new();
        runtime(&lab, version);
        library(&lab, "libkernels.so", &device::bundle(&[target], 4096), &[]);
        let found = findings(&lab, &[]);
        let is_told = found.iter().any(|(rule, message)| {
            rule == "gpu-bundle-unloadable" && message.contains("of version 6")
        });
        assert_eq!(
            (is_told, found.len()),
            (bad, usize::from(bad)),
            "{version} {target}: {found:?}"
        );
    }
}

/// A linker keeps the relocation of a wrapper against an exported `__hip_fatbin`, as in Debian's
/// librccl.
#[test]
fn wrappers_are_relocated_against_symbols() {
    let lab = Lab::new();
    runtime(&lab, "6");
    lab.write("bundle", device::bundle(&["gfx90a", "gfx1030"], 4096));
    let mut source = device::host_source("work", &[&lab.path("bundle").display().to_string()]);
    source = source.replace(".hidden bundle0\\n", ".protected bundle0\\n.type bundle0,@object\\n");
    source = source.replace("visibility(\"hidden\")", "visibility(\"default\")");
    let flags = ["-Lp/lib", "-l:libamdhip64.so.6", "-Wl,-rpath,$ORIGIN", "-Wl,-soname,libk.so"];
    let file = lab.so("p/lib/libk.so", &source, &flags);
    let shown = lab.sh("readelf -rW p/lib/libk.so").stdout;
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let is_against = |line: &str| line.contains("R_X86_64_64 ") && line.contains("bundle0");
    if cfg!(target_arch = "x86_64") {
        assert!(shown.lines().any(is_against), "{shown}");
    }
    let found = read(&std::fs::read(file).expect("a library"), LISTING);
    assert_eq!(found.faults, []);
    assert_eq!((found.wrappers, targets(&found).len()), (1, 2));
    assert_eq!(findings(&lab, &[]), []);
}

/// An application whose only way to rocBLAS is a library without device code.
#[test]
fn coherence_holds_through_other_libraries() {
    for (built, count) in [(&["gfx90a"][..], 1), (&["gfx90a", "gfx1030"], 0)] {
        let lab = Lab::new();
        runtime(&lab, "6");
        library(&lab, "libmath.so", &device::bundle(built, 4096), &[]);
        let flags = ["-Wl,--no-as-needed", "-Lp/lib", "-l:libmath.so", "-Wl,-rpath,$ORIGIN"];
        lab.so(
            "p/lib/libwrap.so",
            "int wrap;",
            &[&flags[..], &["-Wl,-soname,libwrap.so"]].concat(),
        );
        let code = device::bundle(&["gfx90a", "gfx1030"], 4096);
        library(&lab, "libapp.so", &code, &["-l:libwrap.so"]);
        let found = findings(&lab, &[]);
        assert_eq!(found.len(), count, "{found:?}");
        for (rule, message) in found {
            assert_eq!(rule, "gpu-target-incoherent");
            assert!(
                message.starts_with("no code for gfx1030, which lib/libapp.so has"),
                "{message}"
            );
        }
    }
}

/// hipBLASLt's data with a directory for each GPU, as ROCm 7 installs it, and its indexes.
#[test]
fn data_of_one_gpu_may_have_its_own_directory() {
    let name = "TensileLibrary_Type_HH_gfx90a";
    for bad in [None, Some("code"), Some("mapping"), Some("file")] {
        let lab = Lab::new();
        runtime(&lab, "7.1.0");
        library(&lab, "libhipblaslt.so.1", &device::bundle(&["gfx90a"], 4096), &[]);
        let dir = "p/lib/hipblaslt/library";
        lab.write(&format!("{dir}/gfx90a/TensileLibrary_lazy_gfx90a.dat"), device::index(&[name]));
        lab.write(&format!("{dir}/gfx90a/{name}.dat"), "x");
        if bad != Some("code") {
            lab.write(&format!("{dir}/gfx90a/{name}.co"), device::code_object("gfx90a"));
        }
        if bad == Some("file") {
            let other = format!("{dir}/gfx90a/TensileLibrary_Type_SS_gfx90a.co");
            lab.write(&other, device::code_object("gfx90a"));
        }
        let named = if bad == Some("mapping") { "TensileLibrary_Type_BB_gfx90a" } else { name };
        let mapping = [&[0x81, 7, 0xd9, named.len() as u8], named.as_bytes()].concat();
        lab.write(&format!("{dir}/TensileLiteLibrary_lazy_Mapping.dat"), mapping);
        let found = findings(&lab, &[]);
        let messages: Vec<&str> = found.iter().map(|(_, message)| &**message).collect();
        let expected: &[&str] = match bad {
            None => &[],
            Some("code") => &[
                "TensileLibrary_lazy_gfx90a.dat names TensileLibrary_Type_HH_gfx90a, which has no code object",
                "TensileLiteLibrary_lazy_Mapping.dat names TensileLibrary_Type_HH_gfx90a, which has no code object",
            ],
            Some("file") => {
                &["TensileLibrary_Type_SS_gfx90a.co: the index for gfx90a does not name it"]
            }
            Some(_) => &[
                "TensileLiteLibrary_lazy_Mapping.dat names TensileLibrary_Type_BB_gfx90a.dat, which does not exist",
            ],
        };
        assert_eq!(messages, expected, "{bad:?}");
    }
}

#[test]
fn targets_are_named_in_the_spellings_of_tools() {
    for (text, target) in [
        ("gfx90a", Some("gfx90a")),
        (" GFX90A\n", Some("gfx90a")),
        ("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", Some("gfx90a:sramecc+:xnack-")),
        ("hipv4-amdgcn-amd-amdhsa--gfx10-3-generic", Some("gfx10-3-generic")),
        ("gfx90a:xnack+:sramecc-", Some("gfx90a:sramecc-:xnack+")),
        ("amdgcnspirv", Some("amdgcnspirv")),
        ("gfx90a:xnack", None),
        ("gfx90a:xnack+:xnack-", None),
        ("gfx90a,gfx1030", None),
        ("nvptx64-nvidia-cuda--gfx90a", None),
        ("90a", None),
        ("gfx", None),
        ("", None),
    ] {
        let found = TargetId::named(text).map(|target| target.to_string());
        assert_eq!(found.as_deref(), target, "{text:?}");
    }
}

/// A misspelled processor is reported, but not refused, because newer processors exist.
#[test]
fn unknown_targets_are_said() {
    let lab = Lab::new();
    lab.write("p/one.co", device::code_object("gfx90a"));
    for (target, note) in
        [("gfx90a", ""), ("gfx90b", "warning: --target gfx90b: unknown processor\n")]
    {
        let run = support::linkaudit()
            .current_dir(lab.root())
            .args(["gpu", "p", "--isolated", "--target", target])
            .output()
            .expect("linkaudit runs");
        assert_eq!(String::from_utf8_lossy(&run.stderr), note);
        assert_eq!(run.status.code(), Some(i32::from(!note.is_empty())));
    }
}

/// Settings of targets in policies and code: code that states one serves only devices with the
/// same.
#[test]
fn settings_of_policies_count() {
    for (code, listed, count) in [
        (&["gfx90a:xnack+"][..], "gfx90a:xnack-", 1),
        (&["gfx90a:xnack+", "gfx90a:xnack-"], "gfx90a:xnack-", 0),
        (&["gfx90a"], "gfx90a:xnack-", 0),
        (&["gfx90a:xnack-"], "gfx90a:sramecc+", 0),
    ] {
        let lab = Lab::new();
        runtime(&lab, "6");
        library(&lab, "libkernels.so", &device::bundle(code, 4096), &[]);
        let options = policy(&lab, &format!("targets = [\"{listed}\"]"));
        let found = findings(&lab, &options);
        assert_eq!(found.len(), count, "{code:?} {listed}: {found:?}");
    }
}

/// Code for one GPU of NVIDIA, and for its family.
#[test]
fn cuda_code_may_be_for_one_gpu_only() {
    let mut bytes = device::nv_fatbin(&[(2, 90, 64), (2, 100, 64), (1, 120, 64), (2, 80, 64)]);
    // The high half of the flags' low word, by image.
    for (number, bits) in [(0, 0x10), (1, 0x20), (2, 0x10)] {
        bytes[16 + number * 128 + 42] = bits;
    }
    assert_eq!(targets(&read(&bytes, LISTING)), ["sm_90a", "sm_100f", "compute_120a", "sm_80"]);
}
