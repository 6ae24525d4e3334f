//! `gpu-data-missing`: a library's directory of GPU kernels is absent or incomplete.

use super::{Query, Rule};
use crate::catalogue::GPU;
use crate::finding::{Finding, Findings};
use crate::gpu::{DataDefect, Unit};
use crate::text::show;
use crate::wants::Wants;

pub(super) static RULE: Rule =
    Rule::new("gpu-data-missing", GPU, "kernel files of a GPU library are missing", DOCS, check)
        .keys(&["target", "detail"])
        .wants(Wants::DEVICE_CODE);

const DOCS: &str = "\
## What it does

Checks the directories from which rocBLAS, hipBLASLt and hipSPARSELt load their kernels, and kpack files. Reports:

- a library without such a directory
- an index (`TensileLibrary_lazy_<gpu>.dat`, `TensileLiteLibrary_lazy_Mapping.dat`, `hipblasltExtOpLibrary.dat`) that
  names a file which does not exist, or a kernel library that has no code object
- code objects that no index names, so that they are never loaded
- a file with code for several GPUs, or a set of files `Kernels.so-000-<gpu>.hsaco`, that lacks a GPU for which other
  files have code
- a program or library whose device code is in kpack files (TheRock's packages), if none of these files exists

## Why it matters

If rocBLAS is built without Tensile, programs link and load it, but every matrix multiplication returns rocblas_status
14 (excluded_from_build). If the directory is incomplete, rocBLAS stops with `Cannot read TensileLibrary.dat`.

## Example

```text
error[gpu-data-missing] lib/librocblas.so.4: rocBLAS has no kernel files: rocblas/library does not exist beside it
error[gpu-data-missing] lib/librocfft.so.0: its device code is in ../.kpack/fft_lib_@GFXARCH@.kpack, which does not
exist
error[gpu-data-missing] lib/rocblas/library: TensileLibrary_lazy_gfx90a.dat names TensileLibrary_Type_HH_gfx90a.dat,
which does not exist
```

## How to fix

Build with `-DBUILD_WITH_TENSILE=ON` and install the directory with the library. Build the data again for the GPU
whose data is incomplete.

## Limits

The rule searches for the directory where upstream and Debian install it: in `<directory>/library` or
`<directory>/<version>/library` beside the library. Subdirectories for one GPU are read too. A path compiled into the
library, and the variables `ROCBLAS_TENSILE_LIBPATH` and `ROCM_KPACK_PATH`, are not followed. A missing database of
MIOpen or rocFFT is not reported: both libraries compile kernels that they do not find there.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    let devices = query.devices();
    for (file, kind) in devices.without_data.iter().filter(|(file, _)| query.facts(*file).audited) {
        let message = format!(
            "{} has no kernel files: {}/library does not exist beside it",
            kind.name, kind.directory
        );
        let mut finding = query.about(RULE.id, *file, message);
        finding.detail = Some(format!("{}/library", kind.directory).into_bytes());
        out.push(finding);
    }
    for (file, path) in devices.without_kpack.iter().filter(|(file, _)| query.facts(*file).audited)
    {
        let message = format!("its device code is in {}, which does not exist", show(path));
        let mut finding = query.about(RULE.id, *file, message);
        finding.detail = Some(path.clone());
        out.push(finding);
    }
    for (number, set) in devices.sets.iter().enumerate() {
        let unit = Unit::Data(number);
        if query.is_audited_unit(unit) {
            out.extend(set.faults.iter().map(|fault| finding(query, unit, fault)));
        }
    }
    out
}

fn finding(query: &Query<'_>, unit: Unit, fault: &DataDefect) -> Box<Finding> {
    let (message, target, detail) = match fault {
        DataDefect::MissingFile { index, file } => {
            let message = format!("{} names {}, which does not exist", show(index), show(file));
            (message, None, file)
        }
        DataDefect::NoIndex { target, file } => {
            let message = format!("{} is for {target}, and no index names code for it", show(file));
            (message, Some(target), file)
        }
        DataDefect::NoCode { index, library } => {
            let message =
                format!("{} names {}, which has no code object", show(index), show(library));
            (message, None, library)
        }
        DataDefect::Unnamed { target, file, count } => {
            let message = match count {
                1 => format!("{}: the index for {target} does not name it", show(file)),
                n => format!(
                    "{} and {} more files: the index for {target} does not name them",
                    show(file),
                    n - 1
                ),
            };
            (message, Some(target), file)
        }
        DataDefect::Fewer { file, target } => {
            let message = format!("{} lacks {target}, which other files have", show(file));
            (message, Some(target), file)
        }
        DataDefect::BadIndex { index } => {
            (format!("{} is not a valid index", show(index)), None, index)
        }
    };
    let mut finding = Finding::new(RULE.id, query.locate_unit(unit), message);
    finding.target = target.map(|target| target.to_string().into_bytes());
    finding.detail = Some(detail.clone());
    finding
}
