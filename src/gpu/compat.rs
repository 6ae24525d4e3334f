//! Decides which code objects a device runs, by the rules of a HIP runtime. The upstream runtime
//! accepts the device's own code, its family's generic code and SPIR-V (ROCR, `Isa::IsCompatible`;
//! clr, `hip_fatbin.cpp`). Distributions patch the runtime to accept more:
//! `0001-Improve-hipamd-compat-check.patch` of nixpkgs and
//! `hip-5.7.1-extend-isa-compatibility-check.patch` of Gentoo, which Debian has too.

use crate::format::gpu::{SPIRV, TargetId};

/// A variant of the HIP runtime: upstream's, or one with a distribution's patches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// Upstream's runtime.
    Stock,
    /// The runtime of Debian and Gentoo.
    Debian,
    /// The runtime of nixpkgs.
    Nix,
}

impl Profile {
    /// The name in policies and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::Debian => "debian",
            Self::Nix => "nix",
        }
    }

    /// The profile with this name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Stock, Self::Debian, Self::Nix].into_iter().find(|profile| profile.name() == name)
    }

    /// True if the patches of the runtime let `device` run code for the processor `code`.
    fn coerces(self, device: &str, code: &str) -> bool {
        let both = |list: &[&str]| list.contains(&device) && list.contains(&code);
        match self {
            Self::Stock => false,
            Self::Debian => {
                both(&["gfx900", "gfx902", "gfx909", "gfx90c"])
                    || both(GFX103)
                    || code == "gfx900" && device == "gfx906"
                    || code == "gfx1010" && GFX101.contains(&device)
            }
            Self::Nix => {
                both(&["gfx900", "gfx902", "gfx909", "gfx90c"]) || both(GFX101) || both(GFX103)
            }
        }
    }
}

const GFX101: &[&str] = &["gfx1010", "gfx1011", "gfx1012", "gfx1013"];
const GFX103: &[&str] =
    &["gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"];

/// Generic targets and their members (LLVM's AMDGPUUsage, "Generic processors").
const GENERIC: &[(&str, &[&str])] = &[
    ("gfx9-generic", &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"]),
    ("gfx9-4-generic", &["gfx940", "gfx941", "gfx942", "gfx950"]),
    ("gfx10-1-generic", GFX101),
    ("gfx10-3-generic", GFX103),
    (
        "gfx11-generic",
        &["gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"],
    ),
    ("gfx12-generic", &["gfx1200", "gfx1201"]),
];

/// The processors that run code for the generic target `name`. Empty for other names.
pub fn members(name: &str) -> &'static [&'static str] {
    GENERIC.iter().find(|(generic, _)| *generic == name).map_or(&[], |(_, members)| members)
}

/// The kind of the best code for a device. The kinds are in order of preference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DeviceCoverage {
    /// Code for the device itself.
    Exact,
    /// Generic code, for the family of the device.
    Generic,
    /// Code for a similar device, which a patched runtime accepts.
    Coerced,
    /// SPIR-V, which the runtime compiles.
    Spirv,
    /// No code that the runtime accepts.
    None,
}

impl DeviceCoverage {
    /// The name of the coverage in reports, such as `exact`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Generic => "generic",
            Self::Coerced => "coerced",
            Self::Spirv => "SPIR-V",
            Self::None => "none",
        }
    }
}

/// Device code for one target, in a file or a data directory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TargetCode {
    /// The processor and the settings for which the code is compiled.
    pub target: TargetId,
    /// True if the code is in a compressed bundle. The runtime's library comgr finds only exact
    /// target names in such a bundle.
    pub compressed: bool,
}

/// The best coverage of `device` by `offers`, under a runtime with this profile.
pub fn coverage(device: &TargetId, offers: &[TargetCode], profile: Profile) -> DeviceCoverage {
    let each = offers.iter().map(|offer| of_one(device, offer, profile));
    each.min().unwrap_or(DeviceCoverage::None)
}

fn of_one(device: &TargetId, offer: &TargetCode, profile: Profile) -> DeviceCoverage {
    let (code, name) = (&*offer.target.processor, &*device.processor);
    if !offer.target.settings_fit(device) {
        return DeviceCoverage::None;
    }
    if code == name {
        DeviceCoverage::Exact
    } else if members(code).contains(&name) {
        DeviceCoverage::Generic
    } else if !offer.compressed && profile.coerces(name, code) {
        DeviceCoverage::Coerced
    } else if code == SPIRV {
        DeviceCoverage::Spirv
    } else {
        DeviceCoverage::None
    }
}

/// The first code that `device` could run if the code were not in a compressed bundle. The patched
/// runtime lets `device` run code for that processor, but does not search compressed bundles for
/// such code. `None` if there is no such code, or if other code covers the device.
pub fn blocked<'o>(
    device: &TargetId,
    offers: &'o [TargetCode],
    profile: Profile,
) -> Option<&'o TargetCode> {
    let is_blocked = |offer: &&TargetCode| {
        offer.compressed
            && offer.target.settings_fit(device)
            && profile.coerces(&device.processor, &offer.target.processor)
    };
    let is_none = coverage(device, offers, profile) == DeviceCoverage::None;
    offers.iter().find(is_blocked).filter(|_| is_none)
}

/// True if `offers` cover `needed`, the target of code in another file or in an earlier report.
/// If `needed` is generic, the actual device is unknown: the same generic code, SPIR-V code, or
/// code for any member is enough. For the same reason, SPIR-V as `needed` is always covered.
pub fn serves(needed: &TargetId, offers: &[TargetCode], profile: Profile) -> bool {
    if needed.processor == SPIRV || coverage(needed, offers, profile) != DeviceCoverage::None {
        return true;
    }
    let own = members(&needed.processor).iter().map(|member| TargetId::any(member));
    own.into_iter().any(|member| coverage(&member, offers, profile) != DeviceCoverage::None)
}

#[cfg(test)]
mod tests {
    use super::{DeviceCoverage, GENERIC, Profile, TargetCode, blocked, coverage, serves};
    use crate::format::gpu::{TargetId, processors};

    fn offers(targets: &[&str], compressed: bool) -> Vec<TargetCode> {
        let id = |text: &&str| TargetId::parse(text.as_bytes()).expect("a target");
        targets.iter().map(|text| TargetCode { target: id(text), compressed }).collect()
    }

    fn of(device: &str, targets: &[&str], profile: Profile) -> DeviceCoverage {
        let device = TargetId::parse(device.as_bytes()).expect("a target");
        coverage(&device, &offers(targets, false), profile)
    }

    #[test]
    fn the_best_code_counts() {
        let all = ["gfx11-generic", "gfx1100", "amdgcnspirv"];
        assert_eq!(of("gfx1100", &all, Profile::Stock), DeviceCoverage::Exact);
        assert_eq!(of("gfx1103", &all, Profile::Stock), DeviceCoverage::Generic);
        assert_eq!(of("gfx1201", &all, Profile::Stock), DeviceCoverage::Spirv);
        assert_eq!(of("gfx1201", &all[..2], Profile::Stock), DeviceCoverage::None);
        // gfx908 and gfx90a are in no family.
        assert_eq!(of("gfx908", &["gfx9-generic"], Profile::Stock), DeviceCoverage::None);
        assert_eq!(of("gfx90a:xnack+", &["gfx90a:xnack-"], Profile::Stock), DeviceCoverage::None);
        assert_eq!(of("gfx90a:xnack+", &["gfx90a"], Profile::Stock), DeviceCoverage::Exact);
    }

    #[test]
    fn patched_runtimes_accept_similar_code() {
        for (device, code, debian, nix) in [
            ("gfx1031", "gfx1030", true, true),
            ("gfx906", "gfx900", true, false),
            ("gfx900", "gfx906", false, false),
            ("gfx1012", "gfx1010", true, true),
            ("gfx1010", "gfx1012", false, true),
            ("gfx90c", "gfx902", true, true),
            ("gfx1101", "gfx1100", false, false),
        ] {
            let is = |profile| of(device, &[code], profile) == DeviceCoverage::Coerced;
            assert_eq!((is(Profile::Debian), is(Profile::Nix)), (debian, nix), "{device} {code}");
            assert_eq!(of(device, &[code], Profile::Stock), DeviceCoverage::None);
        }
    }

    #[test]
    fn compression_hides_similar_code() {
        let device = TargetId::any("gfx1031");
        let hidden = offers(&["gfx1030"], true);
        assert_eq!(coverage(&device, &hidden, Profile::Nix), DeviceCoverage::None);
        assert!(blocked(&device, &hidden, Profile::Nix).is_some());
        assert!(blocked(&device, &hidden, Profile::Stock).is_none());
        let both = offers(&["gfx1030", "gfx10-3-generic"], true);
        assert!(blocked(&device, &both, Profile::Nix).is_none());
        let device = TargetId::parse(b"gfx90c:xnack+").expect("a target");
        let fits = |code: &str| blocked(&device, &offers(&[code], true), Profile::Debian).is_some();
        assert_eq!(["gfx902:xnack+", "gfx902:xnack-"].map(fits), [true, false]);
    }

    #[test]
    fn generic_code_is_served_by_any_member() {
        let generic = TargetId::any("gfx11-generic");
        assert!(serves(&generic, &offers(&["gfx1101"], true), Profile::Stock));
        assert!(serves(&generic, &offers(&["gfx11-generic"], true), Profile::Stock));
        assert!(!serves(&generic, &offers(&["gfx1030"], true), Profile::Stock));
    }

    #[test]
    fn families_have_known_members() {
        for (generic, members) in GENERIC {
            for name in members.iter().chain([generic]) {
                assert!(processors().any(|known| known == *name), "{name}");
            }
        }
    }
}
