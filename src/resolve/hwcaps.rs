//! Subdirectories that a loader tries below every search directory before the directory itself
//! (`elf/dl-hwcaps.c`). Since glibc 2.33, the loader tries `glibc-hwcaps/NAME`. Up to glibc 2.36,
//! it also tries all combinations of `tls`, the platform and the names of processor features.

use super::MachineRow;
use crate::format::elf::GlibcVersion;
use crate::plan::Cpu;

/// The glibc release that removed the legacy subdirectories (6099908fb8).
const NO_LEGACY: GlibcVersion = GlibcVersion::new(2, 37);
/// The glibc release that introduced `glibc-hwcaps` (dad90d5282).
const SUBDIRS: GlibcVersion = GlibcVersion::new(2, 33);

/// Names of `glibc-hwcaps` directories that are active on the processor, best first.
pub(super) fn active(machine: MachineRow, cpu: &Cpu, release: GlibcVersion) -> Vec<&'static str> {
    if release < SUBDIRS {
        return Vec::new();
    }
    let first = if is_x86(machine) {
        // `machine.hwcaps` begins with x86-64-v4. Level 1 has no subdirectory.
        let levels = usize::from(cpu.x86_level).saturating_sub(1);
        Some(machine.hwcaps.len().saturating_sub(levels))
    } else {
        machine.hwcaps.iter().position(|name| Some(*name) == cpu.named)
    };
    first.map_or(Vec::new(), |first| machine.hwcaps[first..].to_vec())
}

/// True for x86-64 and x32, whose processors [`Cpu`] distinguishes.
fn is_x86(machine: MachineRow) -> bool {
    matches!(machine.name, "x86_64" | "x32")
}

/// The value of `$PLATFORM`, which is also a part of legacy subdirectories. `None` on machines
/// where the kernel's value depends on the processor (`v7l`, `power9`, `z15`). A search path entry
/// with `$PLATFORM` is then dropped.
pub(super) fn platform(machine: MachineRow, cpu: &Cpu) -> Option<&'static str> {
    cpu.platform.filter(|_| is_x86(machine)).or(machine.platform)
}

/// All subdirectories in search order, each with a trailing slash. The last subdirectory is empty:
/// it stands for the search directory itself.
pub(super) fn subdirs(machine: MachineRow, cpu: &Cpu, release: GlibcVersion) -> Vec<Vec<u8>> {
    let mut out: Vec<Vec<u8>> = active(machine, cpu, release)
        .iter()
        .map(|name| format!("glibc-hwcaps/{name}/").into_bytes())
        .collect();
    if release < NO_LEGACY {
        out.extend(legacy(machine, cpu));
    }
    out.push(Vec::new());
    out
}

/// True if the loader searches the subdirectory only on some processors of this machine.
pub(super) fn is_by_cpu(machine: MachineRow, subdir: &[u8]) -> bool {
    let is_common = |name: &[u8]| match name {
        b"" | b"tls" => true,
        b"x86_64" => is_x86(machine),
        b"sse2" => machine.name == "i386",
        // On i386, the platform of the row (`i686`) is the value of only one processor.
        name => {
            machine.name != "i386" && machine.platform.is_some_and(|own| own.as_bytes() == name)
        }
    };
    !subdir.split(|byte| *byte == b'/').all(is_common)
}

/// The legacy subdirectories in search order: every combination of `tls`, the platform and the
/// names of processor features. `names` is in ascending order of importance, and combinations with
/// the most important name come first.
fn legacy(machine: MachineRow, cpu: &Cpu) -> Vec<Vec<u8>> {
    let mut names: Vec<&str> = match machine.name {
        "x86_64" | "x32" => vec!["x86_64"],
        "i386" => vec!["sse2"],
        _ => Vec::new(),
    };
    if cpu.avx512_1 && is_x86(machine) {
        names.push("avx512_1");
    }
    names.extend(platform(machine, cpu));
    names.push("tls");
    let mut out: Vec<Vec<u8>> = Vec::new();
    for set in (1..1_u32 << names.len()).rev() {
        let parts = (0..names.len()).rev().filter(|bit| set & (1 << bit) != 0);
        let dir: Vec<u8> = parts.flat_map(|bit| [names[bit].as_bytes(), b"/"].concat()).collect();
        if !out.contains(&dir) {
            out.push(dir);
        }
    }
    out
}

/// The legacy hwcap bits that a cache entry may have on this processor (`search_cache`,
/// `elf/dl-cache.c`): `tls`, the processor's features (`sysdeps/x86/dl-hwcap.h`) and its platform.
/// ldconfig sets these bits only for x86.
pub(super) fn legacy_bits(machine: MachineRow, cpu: &Cpu) -> u64 {
    let features = match machine.name {
        "x86_64" | "x32" => 1 << 1 | u64::from(cpu.avx512_1) << 2,
        "i386" => 1,
        _ => 0,
    };
    let platform = match platform(machine, cpu) {
        Some("i586") => 1 << 48,
        Some("i686") => 1 << 49,
        Some("haswell") => 1 << 50,
        Some("xeon_phi") => 1 << 51,
        _ => 0,
    };
    1 << 63 | features | platform
}

#[cfg(test)]
mod tests {
    use super::{MachineRow, subdirs};
    use crate::format::elf::{GlibcVersion, Target};
    use crate::plan::Cpu;

    fn machine(machine: u16) -> MachineRow {
        let target = Target { is_64: true, big: false, machine, flags: 0, machine_first: false };
        crate::format::elf::machine::of(target).unwrap()
    }

    fn of(release: GlibcVersion, cpu: &Cpu) -> Vec<String> {
        subdirs(machine(62), cpu, release)
            .into_iter()
            .map(|dir| String::from_utf8(dir).unwrap())
            .collect()
    }

    #[test]
    fn order_of_2_36_on_a_v3_processor() {
        let cpu = Cpu { x86_level: 3, ..Cpu::BASELINE };
        assert_eq!(
            of(GlibcVersion::new(2, 36), &cpu),
            [
                "glibc-hwcaps/x86-64-v3/",
                "glibc-hwcaps/x86-64-v2/",
                "tls/x86_64/x86_64/",
                "tls/x86_64/",
                "tls/",
                "x86_64/x86_64/",
                "x86_64/",
                "",
            ]
        );
    }

    #[test]
    fn only_names_of_features_depend_on_the_processor() {
        let (x86, arm) = (machine(62), machine(183));
        for (machine, subdir, is_by_cpu) in [
            (x86, "", false),
            (x86, "tls/x86_64/x86_64/", false),
            (x86, "tls/haswell/x86_64/", true),
            (x86, "avx512_1/", true),
            (x86, "glibc-hwcaps/x86-64-v3/", true),
            (arm, "tls/aarch64/", false),
        ] {
            assert_eq!(super::is_by_cpu(machine, subdir.as_bytes()), is_by_cpu, "{subdir}");
        }
    }

    /// `tls`, the platform and the feature names, in the order of `_dl_important_hwcaps`.
    #[test]
    fn an_intel_processor_has_its_own_subdirectories() {
        let named = |name| of(GlibcVersion::new(2, 31), &Cpu::named(name).unwrap());
        let haswell = ["tls/haswell/x86_64/", "tls/haswell/", "tls/x86_64/", "tls/"];
        assert_eq!(named("haswell")[..4], haswell);
        assert_eq!(named("haswell")[4..], ["haswell/x86_64/", "haswell/", "x86_64/", ""]);
        let wide = named("skylake-avx512");
        assert_eq!(wide[..2], ["tls/haswell/avx512_1/x86_64/", "tls/haswell/avx512_1/"]);
        assert_eq!(wide.len(), 16);
        // The level x86-64-v4 does not determine the vendor.
        assert_eq!(named("x86-64-v4"), named("baseline"));
    }

    #[test]
    fn later_releases_have_hwcaps_only_and_earlier_ones_legacy_only() {
        assert_eq!(of(GlibcVersion::new(2, 37), &Cpu::BASELINE), [""]);
        assert!(
            of(GlibcVersion::new(2, 31), &Cpu { x86_level: 4, ..Cpu::BASELINE })[0]
                .starts_with("tls/")
        );
    }
}
