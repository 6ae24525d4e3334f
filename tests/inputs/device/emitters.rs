//! `fix --emit` for device code: lists of targets for build systems, and the order in which
//! libraries are built again. The tools for which the lines are written evaluate them, if they are
//! installed.

use super::device;
use super::rows::{library, policy, runtime};
use crate::support::{self, Lab, clean};

/// Three libraries in a chain, of which the last two lack a target.
fn lab() -> Lab {
    let lab = Lab::new();
    runtime(&lab, "6");
    let few = device::bundle(&["gfx90a"], 4096);
    // Names in the reverse order of needs.
    library(&lab, "libz-base.so", &few, &[]);
    library(&lab, "libm-math.so", &few, &["-l:libz-base.so"]);
    library(
        &lab,
        "liba-app.so",
        &device::bundle(&["gfx90a", "gfx1030"], 4096),
        &["-l:libm-math.so"],
    );
    policy(&lab, "targets = [\"gfx1030\"]");
    lab
}

fn emitted(lab: &Lab, name: &str) -> String {
    let run = support::linkaudit()
        .current_dir(lab.root())
        .args(["fix", "p", "--isolated", "--policy", "gpu.toml", "--emit", name])
        .output()
        .expect("linkaudit runs");
    assert_eq!(run.status.code(), Some(1), "{run:?}");
    String::from_utf8(run.stdout).expect("text")
}

#[test]
fn targets_for_build_systems() {
    let lab = lab();
    let prefix = lab.path("p").display().to_string();
    for (name, line) in [
        ("gpu-cmake", "'-DGPU_TARGETS=gfx90a;gfx1030'"),
        ("gpu-nix", "gpuTargets = [ \"gfx90a\" \"gfx1030\" ];"),
        ("gpu-gentoo", "AMDGPU_TARGETS=\"gfx90a gfx1030\""),
    ] {
        assert_eq!(emitted(&lab, name), format!("# {prefix}\n{line}\n"));
    }
    // A shell reads what it is meant to read.
    let make = emitted(&lab, "gpu-gentoo") + "printf '%s|' $AMDGPU_TARGETS";
    let run = clean("sh").arg("-c").arg(make).output().expect("sh runs");
    assert_eq!(run.stdout, b"gfx90a|gfx1030|");
    let words = emitted(&lab, "gpu-cmake");
    let words = words.lines().nth(1).expect("a line");
    let run = clean("sh").arg("-c").arg(format!("printf '%s|' {words}")).output().expect("sh runs");
    assert_eq!(run.stdout, b"-DGPU_TARGETS=gfx90a;gfx1030|");
}

/// A build that ignored the requested list of targets.
#[test]
fn targets_that_an_exact_policy_does_not_list_are_left_out() {
    let lab = Lab::new();
    runtime(&lab, "6");
    let code = device::bundle(&["gfx908", "gfx90a", "gfx942"], 4096);
    library(&lab, "libdevice_ops.so", &code, &[]);
    policy(&lab, "targets = [\"gfx90a\", \"gfx1030\"]\nexact = true");
    let line = emitted(&lab, "gpu-cmake").lines().nth(1).map(str::to_owned);
    assert_eq!(line.as_deref(), Some("'-DGPU_TARGETS=gfx90a;gfx1030'"));
    policy(&lab, "targets = [\"gfx90a\"]\nexact = true");
    let line = emitted(&lab, "gpu-cmake").lines().nth(1).map(str::to_owned);
    assert_eq!(line.as_deref(), Some("'-DGPU_TARGETS=gfx90a'"));
}

#[test]
fn known_findings_are_about_one_target() {
    let lab = Lab::new();
    runtime(&lab, "6");
    library(&lab, "libfew.so", &device::bundle(&["gfx90a"], 4096), &[]);
    policy(&lab, "targets = [\"gfx1030\", \"gfx1100\"]");
    let waivers = emitted(&lab, "policy-waivers");
    let of_rule = "rule = \"gpu-target-missing\"";
    let mut waivers = waivers.split("\n\n").filter(|waiver| waiver.contains(of_rule));
    let waiver = waivers.find(|waiver| waiver.contains("target = \"gfx1030\"")).expect("a waiver");
    let waiver = waiver.replace("reason = \"\"", "reason = \"known\"");
    lab.write("one.toml", format!("schema = 1\n{waiver}"));
    let check = |more: &[&str]| {
        lab.linkaudit(&[&["p", "--isolated", "--policy", "gpu.toml"], more].concat())
    };
    let missing = |policy: &str| {
        let run = check(&["--policy", policy, "--format", "json"]);
        let report: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON");
        let findings = report["findings"].as_array().expect("findings").clone();
        let own = findings.iter().filter(|finding| finding["rule"] == "gpu-target-missing");
        own.map(|finding| finding["target"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(missing("one.toml"), ["\"gfx1100\""]);
    // A first policy accepts both, and no third one.
    let init = ["policy", "init", "--from", "p", "first.toml", "--isolated"];
    let made = lab.linkaudit(&[&init[..], &["--policy", "gpu.toml"]].concat());
    assert!(made.status.success(), "{made:?}");
    assert_eq!(missing("first.toml"), [""; 0]);
    policy(&lab, "targets = [\"gfx1030\", \"gfx1100\", \"gfx942\"]");
    assert_eq!(missing("first.toml"), ["\"gfx942\""]);
    // A baseline names them.
    check(&["--write-baseline", "known"]);
    let lines = std::fs::read_to_string(lab.path("known")).expect("a baseline");
    for target in ["gfx1030", "gfx1100", "gfx942"] {
        let line = format!(" gpu-target-missing lib/libfew.so {target}\n");
        assert!(lines.contains(&line), "{lines}");
    }
}

#[test]
fn libraries_precede_what_needs_them() {
    let lab = lab();
    let out = emitted(&lab, "rebuild-order");
    let names: Vec<&str> = out.lines().filter_map(|line| line.rsplit('/').next()).collect();
    assert_eq!(names, ["libz-base.so", "libm-math.so"]);
}
