//! `gpu-nix`: the argument `gpuTargets` of nixpkgs' ROCm packages.

use super::{Emission, Emitted, gpu_packages};

pub(super) fn render(emission: &Emission<'_>) -> Emitted {
    gpu_packages::lines(emission, |targets| {
        let each: Vec<String> = targets.iter().map(|target| format!("\"{target}\"")).collect();
        format!("gpuTargets = [ {} ];", each.join(" "))
    })
}
