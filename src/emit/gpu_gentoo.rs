//! `gpu-gentoo`: the variable of make.conf from which rocm.eclass makes USE flags.

use super::{Emission, Emitted, gpu_packages};

pub(super) fn render(emission: &Emission<'_>) -> Emitted {
    gpu_packages::lines(emission, |targets| format!("AMDGPU_TARGETS=\"{}\"", targets.join(" ")))
}
