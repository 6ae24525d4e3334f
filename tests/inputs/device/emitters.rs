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

/// A build that ignored the list that was asked for.
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
fn libraries_precede_what_needs_them() {
    let lab = lab();
    let out = emitted(&lab, "rebuild-order");
    let names: Vec<&str> = out.lines().filter_map(|line| line.rsplit('/').next()).collect();
    assert_eq!(names, ["libz-base.so", "libm-math.so"]);
}
