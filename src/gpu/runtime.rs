//! The HIP runtime of a process, libamdhip64: its version and the patches of its distributor. Both
//! decide which device code the runtime loads.

use super::compat::Profile;
use crate::id::FileId;
use crate::policy::Gpu;
use crate::text::show_path;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A HIP runtime: a file that is called `libamdhip64.so*`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Runtime {
    /// The file of the library libamdhip64.
    pub file: FileId,
    /// Major version, and minor version if the file name has it. `None` if the name has no version.
    pub version: Option<(u32, Option<u32>)>,
}

impl Runtime {
    /// The runtime at `path`; `None` if the file name does not start with `libamdhip64.so`.
    pub fn at(file: FileId, path: &Path) -> Option<Self> {
        let name = path.file_name()?.as_bytes();
        let rest = name.strip_prefix(b"libamdhip64.so")?;
        let text = std::str::from_utf8(rest).unwrap_or_default();
        let mut numbers = text.split('.').skip(1).map(|part| part.parse().ok());
        let version = numbers.next().flatten().map(|major| (major, numbers.next().flatten()));
        Some(Self { file, version })
    }

    /// True if the version is known to be at most `major.minor`.
    pub fn is_at_most(&self, major: u32, minor: u32) -> bool {
        match self.version {
            Some((own, Some(own_minor))) => (own, own_minor) <= (major, minor),
            Some((own, None)) => own < major,
            None => false,
        }
    }

    /// True if the version is known to be at least `major.minor`.
    pub fn is_at_least(&self, major: u32, minor: u32) -> bool {
        match self.version {
            Some((own, Some(own_minor))) => (own, own_minor) >= (major, minor),
            Some((own, None)) => own > major || own == major && minor == 0,
            None => false,
        }
    }

    /// The name and version of the runtime, for reports.
    pub fn version_text(&self) -> String {
        match self.version {
            Some((major, Some(minor))) => format!("HIP runtime {major}.{minor}"),
            Some((major, None)) => format!("HIP runtime {major}"),
            None => "HIP runtime".to_owned(),
        }
    }
}

/// The profile that applies, with the reason as a phrase for reports. If the policy names a
/// profile, that profile applies. Else, the path `runtime` of libamdhip64 may show which
/// distribution installed the runtime. Otherwise the profile is upstream's.
pub fn profile_of(policy: &Gpu, runtime: Option<&Path>) -> (Profile, String) {
    let stated = policy.loader.as_ref().and_then(|(name, _)| Profile::named(name));
    if let Some(profile) = stated {
        return (profile, "set by the policy".to_owned());
    }
    let Some(path) = runtime else {
        return (Profile::Stock, "no libamdhip64 was found".to_owned());
    };
    let shown = show_path(path);
    let bytes = path.as_os_str().as_bytes();
    let has = |part: &[u8]| memchr::memmem::find(bytes, part).is_some();
    if crate::package::store_item(path).is_some() && has(b"/nix/store/") {
        (Profile::Nix, format!("by {shown}, which is in a Nix store"))
    } else if has(b"/usr/lib/") && has(b"-linux-gnu/") {
        (Profile::Debian, format!("by {shown}, which is where Debian installs it"))
    } else {
        (Profile::Stock, format!("by {shown}, which is the path of no distribution"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Profile, Runtime, profile_of};
    use crate::id::{FileId, Id as _};
    use crate::policy::Gpu;
    use std::path::Path;

    #[test]
    fn versions_are_those_of_file_names() {
        let at = |name: &str| Runtime::at(FileId::from_index(0), Path::new(name));
        let runtime = at("/opt/rocm/lib/libamdhip64.so.6.2.41134").expect("a runtime");
        assert_eq!(runtime.version, Some((6, Some(2))));
        assert!(runtime.is_at_most(6, 3) && !runtime.is_at_most(6, 0) && runtime.is_at_least(6, 2));
        let major = at("libamdhip64.so.7").expect("a runtime");
        assert!(major.is_at_least(7, 0) && !major.is_at_least(7, 1) && !major.is_at_most(6, 4));
        assert_eq!(at("libamdhip64.so").expect("a runtime").version, None);
        assert_eq!(at("libhiprtc.so.6"), None);
    }

    #[test]
    fn a_profile_is_that_of_the_package() {
        let of = |path: &str| profile_of(&Gpu::default(), Some(Path::new(path))).0;
        let item = "/nix/store/0123456789abcdfghijklmnpqrsvwxyz-clr-6.3/lib/libamdhip64.so.6";
        assert_eq!(of(item), Profile::Nix);
        assert_eq!(of("/usr/lib/x86_64-linux-gnu/libamdhip64.so.6"), Profile::Debian);
        assert_eq!(of("/opt/rocm/lib/libamdhip64.so.6"), Profile::Stock);
    }
}
