//! `gpu-gentoo`: the variable of make.conf that rocm.eclass turns into USE flags.

use super::{Emission, Emitted, gpu_packages};

pub(super) fn render(emission: &Emission<'_>) -> Emitted {
    gpu_packages::lines(emission, |targets| format!("AMDGPU_TARGETS=\"{}\"", targets.join(" ")))
}
