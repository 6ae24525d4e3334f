//! Target ids of AMD GPUs: a processor with its settings for XNACK and SRAM ECC (LLVM's
//! AMDGPUUsage, "Target ID"). The module also has the table of processors, keyed by their number in
//! `e_flags`.

use std::cmp::Ordering;
use std::fmt;

/// A target id, such as `gfx90a:sramecc+:xnack-`. An absent setting matches both values.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TargetId {
    /// The processor: `gfx90a`, `gfx11-generic`, `amdgcnspirv`.
    pub processor: String,
    /// True if SRAM ECC is on, false if it is off, `None` if the id does not say.
    pub sramecc: Option<bool>,
    /// True if XNACK is on, false if it is off, `None` if the id does not say.
    pub xnack: Option<bool>,
}

/// The processor name of SPIR-V code, which the runtime compiles for any GPU.
pub const SPIRV: &str = "amdgcnspirv";

impl TargetId {
    /// The target id of a processor without settings, which matches all settings.
    pub fn any(processor: &str) -> Self {
        Self { processor: processor.to_owned(), sramecc: None, xnack: None }
    }

    /// Parses a target id; `None` for a text of another form.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let mut parts = text.split(':');
        let processor = parts.next().filter(|name| is_processor(name))?;
        let mut target = Self::any(processor);
        for part in parts {
            let (name, is_on) = match (part.strip_suffix('+'), part.strip_suffix('-')) {
                (Some(name), _) => (name, true),
                (_, Some(name)) => (name, false),
                _ => return None,
            };
            let setting = match name {
                "sramecc" => &mut target.sramecc,
                "xnack" => &mut target.xnack,
                _ => return None,
            };
            if setting.replace(is_on).is_some() {
                return None;
            }
        }
        Some(target)
    }

    /// Parses a target that a user typed, in letters of any case. Also accepts the form that
    /// rocminfo prints (`amdgcn-amd-amdhsa--gfx90a:xnack-`), and the id of a bundle entry.
    pub fn named(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let name = match text.split_once("--") {
            Some((triple, name)) if triple.ends_with("amdgcn-amd-amdhsa") => name,
            _ => &*text,
        };
        Self::parse(name.as_bytes())
    }

    /// True if the processor is known: it has a number in `e_flags`, or it is [`SPIRV`].
    pub fn is_known(&self) -> bool {
        self.processor == SPIRV || processors().any(|name| name == self.processor)
    }

    /// True for a generic target, whose code runs on any processor of a family.
    pub fn is_generic(&self) -> bool {
        self.processor.ends_with("-generic")
    }

    /// True if code for `self` runs on a device with the settings of `device`. If the code and the
    /// device both state a setting, the two values must be equal (ROCR, `Isa::IsCompatible`).
    pub fn settings_fit(&self, device: &Self) -> bool {
        let fits = |code: Option<bool>, device: Option<bool>| {
            code.is_none() || device.is_none() || code == device
        };
        fits(self.sramecc, device.sramecc) && fits(self.xnack, device.xnack)
    }
}

fn is_processor(name: &str) -> bool {
    let is_word = |rest: &str| {
        !rest.is_empty()
            && rest.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    name == SPIRV || name.strip_prefix("gfx").is_some_and(is_word)
}

impl Ord for TargetId {
    /// Sorts roughly by the age of the processors: gfx90a comes before gfx1030.
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |id: &Self| (id.processor.len(), id.sramecc, id.xnack);
        let (own, others) = (key(self), key(other));
        own.0
            .cmp(&others.0)
            .then_with(|| self.processor.cmp(&other.processor))
            .then(own.cmp(&others))
    }
}

impl PartialOrd for TargetId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.processor)?;
        for (name, setting) in [("sramecc", self.sramecc), ("xnack", self.xnack)] {
            if let Some(is_on) = setting {
                write!(f, ":{name}{}", if is_on { '+' } else { '-' })?;
            }
        }
        Ok(())
    }
}

/// The processor with this number in `e_flags` (`EF_AMDGPU_MACH_*`, llvm/BinaryFormat/ELF.h of LLVM
/// 23; gfx940 and gfx941 as in LLVM 20). `None` for an unknown number.
pub(super) fn processor(mach: u8) -> Option<&'static str> {
    let found = PROCESSORS.binary_search_by_key(&mach, |(number, _)| *number).ok()?;
    Some(PROCESSORS[found].1)
}

/// Processors, sorted by number.
const PROCESSORS: &[(u8, &str)] = &[
    (0x20, "gfx600"),
    (0x21, "gfx601"),
    (0x22, "gfx700"),
    (0x23, "gfx701"),
    (0x24, "gfx702"),
    (0x25, "gfx703"),
    (0x26, "gfx704"),
    (0x28, "gfx801"),
    (0x29, "gfx802"),
    (0x2a, "gfx803"),
    (0x2b, "gfx810"),
    (0x2c, "gfx900"),
    (0x2d, "gfx902"),
    (0x2e, "gfx904"),
    (0x2f, "gfx906"),
    (0x30, "gfx908"),
    (0x31, "gfx909"),
    (0x32, "gfx90c"),
    (0x33, "gfx1010"),
    (0x34, "gfx1011"),
    (0x35, "gfx1012"),
    (0x36, "gfx1030"),
    (0x37, "gfx1031"),
    (0x38, "gfx1032"),
    (0x39, "gfx1033"),
    (0x3a, "gfx602"),
    (0x3b, "gfx705"),
    (0x3c, "gfx805"),
    (0x3d, "gfx1035"),
    (0x3e, "gfx1034"),
    (0x3f, "gfx90a"),
    (0x40, "gfx940"),
    (0x41, "gfx1100"),
    (0x42, "gfx1013"),
    (0x43, "gfx1150"),
    (0x44, "gfx1103"),
    (0x45, "gfx1036"),
    (0x46, "gfx1101"),
    (0x47, "gfx1102"),
    (0x48, "gfx1200"),
    (0x49, "gfx1250"),
    (0x4a, "gfx1151"),
    (0x4b, "gfx941"),
    (0x4c, "gfx942"),
    (0x4e, "gfx1201"),
    (0x4f, "gfx950"),
    (0x50, "gfx1310"),
    (0x51, "gfx9-generic"),
    (0x52, "gfx10-1-generic"),
    (0x53, "gfx10-3-generic"),
    (0x54, "gfx11-generic"),
    (0x55, "gfx1152"),
    (0x57, "gfx1154"),
    (0x58, "gfx1153"),
    (0x59, "gfx12-generic"),
    (0x5a, "gfx1251"),
    (0x5b, "gfx12-5-generic"),
    (0x5c, "gfx1172"),
    (0x5d, "gfx1170"),
    (0x5e, "gfx1171"),
    (0x5f, "gfx9-4-generic"),
    (0x62, "gfx11-7-generic"),
    (0x63, "gfx13-generic"),
];

/// The names of all processors with a known number in `e_flags`.
pub fn processors() -> impl Iterator<Item = &'static str> {
    PROCESSORS.iter().map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::{PROCESSORS, TargetId, processor};

    #[test]
    fn target_ids_read_back() {
        for text in ["gfx90a", "gfx90a:sramecc+:xnack-", "gfx10-3-generic", "amdgcnspirv"] {
            assert_eq!(TargetId::parse(text.as_bytes()).expect(text).to_string(), text);
        }
        for text in ["", "gfx", "sm_90", "gfx90a:", "gfx90a:xnack", "gfx90a:xnack+:xnack-"] {
            assert_eq!(TargetId::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn settings_of_code_must_be_those_of_the_device() {
        let id = |text: &str| TargetId::parse(text.as_bytes()).expect("a target id");
        let fits = |code: &str, device: &str| id(code).settings_fit(&id(device));
        assert!(fits("gfx90a", "gfx90a:xnack+") && fits("gfx90a:xnack-", "gfx90a"));
        assert!(fits("gfx90a:xnack+", "gfx90a:sramecc-:xnack+"));
        assert!(!fits("gfx90a:xnack-", "gfx90a:xnack+"));
    }

    #[test]
    fn processors_are_sorted() {
        assert!(PROCESSORS.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(processor(0x3f), Some("gfx90a"));
        assert_eq!(processor(0x4d), None);
    }
}
