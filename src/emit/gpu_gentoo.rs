//! `gpu-gentoo`: the USE_EXPAND variable of make.conf whose flags select the GPU targets of
//! rocm.eclass.

use super::{Emission, Emitted, gpu_packages};

pub(super) fn render(emission: &Emission<'_>) -> Emitted {
    gpu_packages::lines(emission, |targets| format!("AMDGPU_TARGETS=\"{}\"", targets.join(" ")))
}
