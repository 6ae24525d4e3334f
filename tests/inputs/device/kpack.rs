//! kpack files: a library whose wrapper has the magic number `HIPK`, the files that it names, and
//! their tables of contents, as `rocm-kpack` documents them.

use super::{DEEP, device, read, targets};
use crate::support::{Lab, linkaudit};
use linkaudit::format::gpu::ContainerKind;
use serde_json::Value;
use std::collections::BTreeSet;

/// A library whose two wrappers lead to a reference to `paths`.
fn library(lab: &Lab, out: &str, paths: &[&str]) {
    lab.write("reference", device::kpack_reference("lib/libfft.so.0", paths));
    let reference = lab.path("reference").display().to_string();
    let source = format!(
        "__asm__(\".pushsection .rocm_kpack_ref,\\\"a\\\",@progbits\\n.hidden reference\\n\
         .globl reference\\nreference:\\n.incbin \\\"{reference}\\\"\\n.popsection\");\n\
         extern const char reference[] __attribute__((visibility(\"hidden\")));\n\
         static struct {{ unsigned magic, version; const void *bundle, *reserved; }} wrapper[2]\n\
         __attribute__((section(\".hipFatBinSegment\"), used)) =\n\
         {{{{ 0x4b504948, 1, reference, 0 }}, {{ 0x4b504948, 1, reference, (void *)1 }}}};\n\
         void __hipRegisterFatBinary(const void *);\n\
         int fft(void) {{ __hipRegisterFatBinary(wrapper); return 0; }}"
    );
    let flags = ["-Lp/lib", "-l:libamdhip64.so.7", "-Wl,-rpath,$ORIGIN", "-Wl,-soname,libfft.so.0"];
    lab.so(out, &source, &flags);
}

fn runtime(lab: &Lab) {
    let source = "void __hipRegisterFatBinary(const void *p) { (void)p; }";
    lab.so("p/lib/libamdhip64.so.7", source, &["-Wl,-soname,libamdhip64.so.7"]);
}

/// The rules of all findings, with their messages.
fn audit(lab: &Lab, options: &[&str]) -> Vec<(String, String)> {
    let run = linkaudit()
        .current_dir(lab.root())
        .args(["p", "--isolated", "--format", "json"])
        .args(options)
        .output()
        .expect("linkaudit runs");
    let report: Value = serde_json::from_slice(&run.stdout).expect("a report");
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().expect("findings").iter();
    findings.map(|finding| (text(finding, "rule"), text(finding, "message"))).collect()
}

#[test]
fn tables_are_listed_and_damage_is_named() {
    let file =
        device::kpack(&[("lib/libfft.so.0#0", "gfx1100"), ("lib/libfft.so.0#0", "gfx90a:xnack+")]);
    let found = read(&file, DEEP);
    assert_eq!((found.faults.len(), found.unread), (0, None));
    let [container] = &*found.containers else { panic!("one file: {found:?}") };
    assert_eq!((container.kind, container.version), (ContainerKind::Kpack, Some(1)));
    assert_eq!(targets(&found), ["gfx1100", "gfx90a:xnack+"]);
    let mut cuts = 0;
    for len in 4..file.len() {
        let cut = read(&file[..len], DEEP);
        assert!(!cut.faults.is_empty(), "cut at {len}");
        cuts += 1;
    }
    let mut newer = file;
    newer[4] = 2;
    let found = read(&newer, DEEP);
    assert_eq!((found.faults.len(), found.unread), (0, Some("a kpack file of an unknown version")));
    println!("kpack: 2 entries, {cuts} cut files, all named");
}

#[test]
fn a_library_without_its_kpack_files() {
    let lab = Lab::new();
    runtime(&lab);
    library(&lab, "p/lib/libfft.so.0", &["../.kpack/fft_lib_@GFXARCH@.kpack"]);
    let found = audit(&lab, &[]);
    let message = "its device code is in ../.kpack/fft_lib_@GFXARCH@.kpack, which does not exist";
    assert_eq!(found, [("gpu-data-missing".to_owned(), message.to_owned())]);
    // The file of another library does not count.
    let pack = |target: &str| device::kpack(&[("lib/libfft.so.0#0", target)]);
    lab.write("p/.kpack/blas_lib_gfx1100.kpack", pack("gfx1100"));
    assert_eq!(audit(&lab, &[]).len(), 1);
    lab.write("p/.kpack/fft_lib_gfx1100.kpack", pack("gfx1100"));
    lab.write("p/.kpack/fft_lib_gfx90a.kpack", pack("gfx90a"));
    assert_eq!(audit(&lab, &[]), []);
    // Targets of the policy, and damage.
    lab.write("targets.toml", "schema = 1\n[gpu]\ntargets = [\"gfx1100\", \"gfx1030\"]\n");
    let found = audit(&lab, &["--policy", "targets.toml"]);
    let rules: BTreeSet<&str> = found.iter().map(|(rule, _)| &**rule).collect();
    assert_eq!(rules, BTreeSet::from(["gpu-target-missing"]), "{found:?}");
    assert!(found.iter().any(|(_, text)| text == "no code for gfx1030; has gfx90a gfx1100"));
    assert!(found.iter().all(|(_, text)| !text.contains("no code for gfx1100")), "{found:?}");
    let mut damaged = pack("gfx90a");
    damaged.truncate(damaged.len() - 1);
    lab.write("p/.kpack/fft_lib_gfx90a.kpack", damaged);
    let found = audit(&lab, &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "gpu-object-mismatch");
}

#[test]
fn libraries_and_kpack_files_in_the_matrix() {
    let lab = Lab::new();
    runtime(&lab);
    library(&lab, "p/lib/libfft.so.0", &["../.kpack/fft_lib_@GFXARCH@.kpack"]);
    for target in ["gfx1100", "gfx90a"] {
        let pack = device::kpack(&[("lib/libfft.so.0#0", target)]);
        lab.write(&format!("p/.kpack/fft_lib_{target}.kpack"), pack);
    }
    let run = linkaudit().current_dir(lab.root()).args(["gpu", "p"]).output().expect("it runs");
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    for line in [
        "lib/libfft.so.0\n    2 wrappers, code in ../.kpack/fft_lib_@GFXARCH@.kpack\n",
        ".kpack/\n    2 kpack files v1, ",
        "   1  .kpack/fft_lib_@GFXARCH@.kpack\n",
        "gfx1100             E\n",
        "gfx90a              E\n",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
    assert_eq!(run.status.code(), Some(0), "{text}");
}

/// A reference that cannot be followed is reported, and is not an error.
#[test]
fn references_that_cannot_be_followed() {
    let lab = Lab::new();
    runtime(&lab);
    library(&lab, "p/lib/libfft.so.0", &["../@GFXARCH@/fft.kpack"]);
    let found = audit(&lab, &[]);
    let message =
        "its device code: the directory of its kpack files depends on the GPU: not listed";
    assert_eq!(found, [("unreadable".to_owned(), message.to_owned())]);
    library(&lab, "p/lib/libfft.so.0", &[]);
    let found = audit(&lab, &[]);
    let message = "its device code: its reference to kpack files has no path";
    assert_eq!(found, [("unreadable".to_owned(), message.to_owned())]);
}
