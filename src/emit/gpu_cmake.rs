//! `gpu-cmake`: the CMake option that sets the GPU targets of ROCm projects, quoted for a shell.

use super::{Emission, Emitted, gpu_packages};

pub(super) fn render(emission: &Emission<'_>) -> Emitted {
    gpu_packages::lines(emission, |targets| format!("'-DGPU_TARGETS={}'", targets.join(";")))
}
