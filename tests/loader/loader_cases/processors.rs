//! Processors with recorded answers, and the way to make a real loader answer as on each of them.
//!
//! glibc reads CPUID. Tunables take features away from it, so that a machine with all of x86-64-v4
//! can be any lower level. The vendor decides `$PLATFORM` and the old subdirectory `avx512_1`
//! (`sysdeps/x86/cpu-features.c`), and no tunable changes it. So a copy of the loader has the two
//! vendors' names exchanged: it runs glibc's own code for the other vendor.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use linkaudit::plan::Cpu;

use crate::support::clean;

/// A processor with recorded answers.
pub(crate) struct Processor {
    /// As `--cpu` names it.
    pub(crate) name: &'static str,
    /// The features that it lacks, for `GLIBC_TUNABLES`.
    pub(crate) lacks: &'static str,
    /// True if glibc treats it as Intel's.
    is_intel: bool,
}

/// Every level with a difference, for both vendors. x86-64-v4 lacks nothing.
pub(crate) const PROCESSORS: &[Processor] = &[
    Processor { name: "x86-64", lacks: "-AVX2,-AVX512F,-SSSE3", is_intel: false },
    Processor { name: "x86-64-v3", lacks: NO_AVX512, is_intel: false },
    Processor { name: "x86-64-v4", lacks: "", is_intel: false },
    Processor { name: "haswell", lacks: NO_AVX512, is_intel: true },
    Processor { name: "skylake-avx512", lacks: "", is_intel: true },
];
const NO_AVX512: &str = "-AVX512F,-AVX512CD,-AVX512BW,-AVX512DQ,-AVX512VL";

impl Processor {
    pub(crate) fn cpu(&self) -> Cpu {
        Cpu::named(self.name).expect("a processor that --cpu knows")
    }

    /// A copy of the `real` loader that answers as on this processor, when it runs on this machine
    /// without the features in `lacks`. Copies stay until the machine clears its temporary files.
    pub(crate) fn loader(&self, real: &Path) -> PathBuf {
        static COPIES: Mutex<BTreeMap<(PathBuf, bool), PathBuf>> = Mutex::new(BTreeMap::new());
        let mut copies = COPIES.lock().expect("no thread failed");
        let copy = || copy_for(real, self.is_intel);
        copies.entry((real.to_owned(), self.is_intel)).or_insert_with(copy).clone()
    }
}

fn copy_for(real: &Path, intel: bool) -> PathBuf {
    let here = std::fs::read_to_string("/proc/cpuinfo").expect("the machine's processor");
    assert!(here.contains("GenuineIntel") || here.contains("AuthenticAMD"));
    let bytes = std::fs::read(real).expect("the loader");
    let own = here.contains("GenuineIntel") == intel;
    let dir = crate::support::scratch::tempdir().expect("a directory for a loader").keep();
    let (written, copy) = (dir.join("written"), dir.join("ld-linux-x86-64.so.2"));
    std::fs::write(&written, if own { bytes } else { other_vendor(&bytes) }).expect("a loader");
    // A file that this process wrote cannot be started while a child of another thread has it open.
    let status = clean("install").args(["-m", "755"]).args([&written, &copy]).status();
    assert!(status.expect("install runs").success());
    copy
}

/// The parts of a vendor's name as CPUID has them in EBX, ECX and EDX, with the second byte of the
/// instruction that compares each (`cmp REGISTER, imm32` is 0x81 and this byte).
const VENDORS: [(u8, &[u8; 4], &[u8; 4]); 3] =
    [(0xfb, b"Genu", b"Auth"), (0xf9, b"ntel", b"cAMD"), (0xfa, b"ineI", b"enti")];

/// The loader with the names of Intel and AMD exchanged in its comparisons.
fn other_vendor(real: &[u8]) -> Vec<u8> {
    let mut out = real.to_vec();
    for (register, intel, amd) in VENDORS {
        for (from, to) in [(intel, amd), (amd, intel)] {
            let code = [&[0x81, register][..], from].concat();
            let places = real.windows(code.len()).enumerate().filter(|(_, w)| *w == code);
            let places: Vec<usize> = places.map(|(at, _)| at + 2).collect();
            assert_eq!(places.len(), 1, "comparisons with {}", from.escape_ascii());
            out[places[0]..places[0] + 4].copy_from_slice(to);
        }
    }
    out
}
