//! Published wheels with CUDA code: the cubins and PTX of each file, in their order, are those
//! that NVIDIA's `cuobjdump -lelf -lptx` lists. The wheels and cuobjdump are pinned by hash.

use super::wheels::{Wheel, fetch};
use crate::support::{self, Lab, clean, skip};
use std::os::unix::fs::PermissionsExt as _;

const CUOBJDUMP: Wheel = Wheel {
    requirement: "nvidia-cuda-cuobjdump==13.5.37 \
        --hash=sha256:38780fee50863252a0b8926357faa91615ca1c8346490563f33a06100cd73f58\n",
    python: "3.12",
    platform: "manylinux_2_17_x86_64",
};

/// The first has PTX, and zstd; the second code for one GPU only (`sm_90a`).
const WHEELS: &[Wheel] = &[
    Wheel {
        requirement: "torchaudio==2.11.0 \
            --hash=sha256:6503c0bdb29daf2e6281bb70ea2dfe2c3553b782b619eb5d73bdadd8a3f7cecf\n",
        python: "3.12",
        platform: "manylinux_2_28_x86_64",
    },
    Wheel {
        requirement: "torchao==0.18.0 \
            --hash=sha256:6540b148e40ba81cbd4de86392225a076a1591146e9cebb099b3b234ba9feebe\n",
        python: "3.12",
        platform: "manylinux_2_28_x86_64",
    },
    Wheel {
        requirement: "jax-cuda12-plugin==0.12.0.1 \
            --hash=sha256:61dc67a8341ad6a0bb59631307914581ad16055f6c5635a2b7e57dfffb77e466\n",
        python: "3.12",
        platform: "manylinux_2_27_x86_64",
    },
    Wheel {
        requirement: "nvidia-nvjpeg==13.3.2.43 \
            --hash=sha256:27f9c4a25a73f1d1ad35c342c8d657c8ff43e23877f338ef15fb2602ac2e5aa8\n",
        python: "3.12",
        platform: "manylinux_2_17_x86_64",
    },
];

#[test]
fn cuda_code_as_cuobjdump_lists_it() {
    let tools = Lab::new();
    if let Err(why) = fetch(&tools, &CUOBJDUMP) {
        return skip("cuda_code_as_cuobjdump_lists_it", &why);
    }
    let tool = tools.path("tree/nvidia/cu13/bin/cuobjdump");
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    let all = std::env::var("LINKAUDIT_WHEELS").is_ok_and(|which| which == "all");
    let (mut files, mut images, mut differences) = (0, 0, Vec::new());
    for wheel in &WHEELS[..if all { WHEELS.len() } else { 2 }] {
        let lab = Lab::new();
        if let Err(why) = fetch(&lab, wheel) {
            return skip("cuda_code_as_cuobjdump_lists_it", &why);
        }
        let run = support::linkaudit()
            .current_dir(lab.root())
            .args(["gpu", "--format", "json", "tree"])
            .output()
            .expect("linkaudit runs");
        let found = support::whole(&run.stdout);
        let found = found["files"].as_array().expect("files");
        assert!(!found.is_empty(), "{}: no device code", wheel.requirement);
        for file in found {
            let path = lab.root().join(file["path"].as_str().expect("a path"));
            assert_eq!(file["faults"], serde_json::json!([]), "{}", path.display());
            let entries = file["bundles"].as_array().expect("bundles").iter();
            let entries = entries.flat_map(|bundle| bundle["entries"].as_array().expect("entries"));
            let ours: Vec<String> =
                entries.map(|entry| entry["id"].as_str().expect("an id").to_owned()).collect();
            let run = clean(&tool).args(["-lelf", "-lptx"]).arg(&path).output().expect("it runs");
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
            let text = String::from_utf8_lossy(&run.stdout).into_owned();
            let theirs: Vec<String> = text.lines().filter_map(image).collect();
            files += 1;
            images += ours.len();
            if ours != theirs {
                differences.push(format!("{}: {ours:?} {theirs:?}", path.display()));
            }
        }
    }
    println!(
        "CUDA code listed by cuobjdump: {files} files, {images} images, {} differences",
        differences.len()
    );
    assert!(images > 20 && differences.is_empty(), "{differences:#?}");
}

/// The id of an image in a line such as `ELF file    1: _linalg.1.sm_120.cubin`.
fn image(line: &str) -> Option<String> {
    let (kind, name) = line.split_once(" file ")?;
    let sm = name.rsplit('.').nth(1)?.strip_prefix("sm_")?;
    let prefix = if kind == "PTX" { "compute" } else { "sm" };
    Some(format!("{prefix}_{sm}"))
}
