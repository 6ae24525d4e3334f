//! Reads auditwheel's own format for policies: a JSON list of platforms. Each platform has the
//! libraries that it provides, the symbol versions of these libraries by architecture, and symbols
//! that these libraries do not export. `FILE#PLATFORM_ARCH` selects one platform for one
//! architecture as a policy. The files of auditwheel 6.8.2 are built in. A built-in name without
//! architecture selects all architectures of the platform. `load` calls this module.

use super::errors::{PolicyError, PolicySource};
use super::{
    Arch, BUILT_IN_ORIGIN, Libc, Origin, Pattern, PlatformRules, Policy, Provided, SymbolAt,
    VersionLimit, platform, value_errors,
};
use crate::order;
use crate::order::Arrange as _;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One platform in a file of auditwheel.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WheelPlatform {
    name: String,
    aliases: Vec<String>,
    priority: i64,
    /// The numbers of the symbol versions, by architecture and then by family.
    symbol_versions: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    /// Sonames that the platform provides.
    lib_whitelist: Vec<String>,
    /// Symbols that the libraries do not export, by library.
    blacklist: BTreeMap<String, Vec<String>>,
}

/// The file and the tag in `manylinux.json#manylinux_2_17_x86_64`; without `#`, there is no tag.
/// `None` if the file name does not end in `.json`, as the names of auditwheel's files do.
pub(super) fn split(name: &str) -> Option<(&str, Option<&str>)> {
    let (file, tag) = name.rsplit_once('#').map_or((name, None), |(file, tag)| (file, Some(tag)));
    let json = file.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case("json"));
    json.then_some((file, tag))
}

/// The soname of musl's libc, which auditwheel calls `libc.so` (`_fixup_musl_libc_soname`).
fn musl_soname(arch: &str) -> String {
    let arch = match arch {
        "i686" => "x86",
        "armv7l" => "armv7",
        other => other,
    };
    format!("libc.musl-{arch}.so.1")
}

/// The policy for the platform and architecture `tag` of the file `source`. Without a tag, the file
/// must have exactly one platform, for one architecture.
pub(super) fn build(
    source: &Arc<PolicySource>,
    origin: &Arc<str>,
    tag: Option<&str>,
) -> Result<Policy, PolicyError> {
    let problem = |at: usize, wrong: String, right: String| PolicyError {
        place: Some((Arc::clone(source), at..at + 1)),
        wrong,
        right,
        lacking: false,
    };
    let platforms: Vec<WheelPlatform> = serde_json::from_str(&source.text).map_err(|error| {
        let text = error.to_string();
        let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
        let at = source.offset(error.line(), error.column());
        let wrong = format!("invalid auditwheel policy: {text}");
        problem(at, wrong, "its policies are lists of name, aliases, priority, …".to_owned())
    })?;
    let archs = |p: &WheelPlatform| p.symbol_versions.keys().cloned().collect::<Vec<_>>();
    let tags = platforms.iter().flat_map(|platform| {
        let names = [&platform.name].into_iter().chain(&platform.aliases).cloned();
        names.flat_map(move |name| {
            archs(platform).into_iter().map(move |arch| (platform, name.clone(), arch))
        })
    });
    let all: Vec<(&WheelPlatform, String, String)> = tags.collect();
    // An alias is another name of the same platform.
    let several: usize = platforms.iter().map(|platform| platform.symbol_versions.len()).sum();
    let chosen = match tag {
        Some(tag) => all.iter().find(|(_, name, arch)| format!("{name}_{arch}") == *tag),
        None => all.first().filter(|_| several == 1),
    };
    let Some((platform, _, arch)) = chosen else {
        let wrong = match tag {
            Some(tag) => {
                format!("unknown platform `{}`", crate::text::show(tag.as_bytes()))
            }
            None => format!("this file holds {several} platforms and one must be chosen"),
        };
        return Err(problem(0, wrong, choices(&all, tag)));
    };
    if let Some((text, fault)) = platform.fault(arch) {
        let at = source.text.find(text).unwrap_or(0);
        return Err(problem(at, fault.about("a name"), fault.right));
    }
    let at = source.text.find(&format!("\"{}\"", platform.name)).unwrap_or(0);
    let origin = Origin { source: Arc::clone(origin), line: source.line(at) };
    Ok(platform.policy(arch, &origin))
}

/// The correction for an unknown or absent tag. If the tag lacks an architecture, the correction
/// lists the complete tags. Otherwise, the correction names the tag that was probably meant, or
/// else the names and architectures of all tags.
fn choices(all: &[(&WheelPlatform, String, String)], tag: Option<&str>) -> String {
    let lacks_arch = |name: &str| tag == Some(name);
    let arches: Vec<String> = all
        .iter()
        .filter(|(_, name, _)| lacks_arch(name))
        .map(|(_, name, arch)| format!("`#{name}_{arch}`"))
        .collect();
    if !arches.is_empty() {
        return format!("add the architecture: {}", arches.join(", "));
    }
    let tags: Vec<String> = all.iter().map(|(_, name, arch)| format!("{name}_{arch}")).collect();
    let near = tag.and_then(|tag| crate::text::nearest(tag, tags.iter().map(String::as_str)));
    if let Some(near) = near {
        return format!("did you mean `#{near}`?");
    }
    let unique = |names: &mut dyn Iterator<Item = &String>| {
        let mut out: Vec<&str> = Vec::new();
        for name in names {
            if !out.contains(&name.as_str()) {
                out.push(name);
            }
        }
        out.join(", ")
    };
    let names = unique(&mut all.iter().map(|(_, name, _)| name));
    let archs = unique(&mut all.iter().map(|(.., arch)| arch));
    format!("write FILE#NAME_ARCH; names are {names}; architectures are {archs}")
}

impl WheelPlatform {
    /// The first name in the platform that is invalid for its kind, with the error; `None` if all
    /// are valid.
    fn fault(&self, arch: &str) -> Option<(&str, value_errors::ValueError)> {
        let families = self.symbol_versions.get(arch).into_iter().flat_map(BTreeMap::keys);
        let sonames = self.lib_whitelist.iter().chain(self.blacklist.keys());
        let symbols = self.blacklist.values().flatten();
        families
            .map(|text| (text, value_errors::family(text)))
            .chain(sonames.map(|text| (text, value_errors::soname(text))))
            .chain(symbols.map(|text| (text, value_errors::name(text))))
            .find_map(|(text, checked)| Some((text.as_str(), checked.err()?)))
    }

    fn rules(&self, arch: &str, origin: &Origin) -> PlatformRules {
        let sonames = self.lib_whitelist.iter().map(|soname| {
            let musl = soname == "libc.so" && self.name.starts_with("musllinux");
            if musl { musl_soname(arch) } else { soname.clone() }
        });
        let families = self.symbol_versions.get(arch).into_iter().flatten();
        let limits = families.map(|(family, versions)| VersionLimit {
            family: family.clone(),
            // Versions such as TM_1 are not numbers. If a family has no numeric version, no
            // number is allowed.
            newest: versions
                .iter()
                .filter_map(|v| value_errors::parts(v))
                .max()
                .unwrap_or_else(|| vec![0]),
            listed: Some(versions.iter().cloned().collect::<BTreeSet<_>>()),
            origin: origin.clone(),
        });
        let reason = format!("{}_{arch} does not export it", self.name);
        let symbols = self
            .blacklist
            .iter()
            .flat_map(|(library, symbols)| symbols.iter().map(move |symbol| (library, symbol)));
        // All names are valid patterns: `fault` checks the names in files of users, and a test
        // checks the built-in files.
        let forbidden = symbols.filter_map(|(library, symbol)| {
            Some(SymbolAt {
                path: None,
                library: Some(Pattern::name(library).ok()?),
                symbol: Pattern::name(symbol).ok()?,
                reason: Some(reason.clone()),
                origin: origin.clone(),
            })
        });
        PlatformRules {
            libraries: sonames.collect(),
            limits: limits.collect(),
            forbidden: forbidden.collect(),
        }
    }

    /// The platform as a policy for files of one architecture.
    fn policy(&self, arch: &str, origin: &Origin) -> Policy {
        let PlatformRules { libraries, limits, forbidden } = self.rules(arch, origin);
        let provided = |soname| Provided { soname, origin: origin.clone() };
        let unlisted = |limit| VersionLimit { listed: None, ..limit };
        Policy {
            provided: libraries.into_iter().map(provided).collect(),
            provided_only: Some((true, origin.clone())),
            version_limits: limits.into_iter().map(unlisted).collect(),
            forbidden_symbols: forbidden,
            ..Policy::default()
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.name).chain(&self.aliases).map(String::as_str)
    }

    /// The platform under the name `asked`, with the rules for the architecture `only`. If `only`
    /// is `None`, with the rules for all architectures of the platform.
    fn platform(&self, asked: &str, libc: Libc, only: Option<Arch>) -> platform::Platform {
        let origin = Origin { source: format!("{BUILT_IN_ORIGIN}{asked}").into(), line: 0 };
        let has = |arch: &Arch| self.symbol_versions.contains_key(arch.name());
        let arches = Arch::all().filter(|arch| only.is_none_or(|only| only == *arch));
        let rules = arches.filter(has).map(|arch| (arch, self.rules(arch.name(), &origin)));
        platform::Platform {
            name: self.name.clone(),
            libc,
            priority: self.priority,
            rules: order::map(rules),
            origin: origin.clone(),
        }
    }
}

/// The built-in files of auditwheel, each with the C library of its platforms.
const BUILT_IN: [(Libc, &str); 2] = [
    (Libc::Glibc, include_str!("../../policies/manylinux-policy.json")),
    (Libc::Musl, include_str!("../../policies/musllinux-policy.json")),
];

/// The platforms of a built-in file, without `linux`, which demands nothing. A test checks that
/// both files can be parsed.
fn platforms(text: &str) -> Vec<WheelPlatform> {
    let mut all: Vec<WheelPlatform> = serde_json::from_str(text).unwrap_or_default();
    all.retain(|platform| platform.name != "linux");
    all
}

/// The built-in platform with this name or alias. The platform has all its architectures, or only
/// the architecture at the end of `name`. `None` if no platform has this name.
pub(super) fn built_in(name: &str) -> Option<platform::Platform> {
    if !name.starts_with("manylinux") && !name.starts_with("musllinux") {
        return None;
    }
    BUILT_IN.into_iter().find_map(|(libc, text)| {
        platforms(text).iter().find_map(|platform| {
            let only = platform.names().find_map(|own| match name.strip_prefix(own)? {
                "" => Some(None),
                rest => {
                    let arch = Arch::named(rest.strip_prefix('_')?)?;
                    platform.symbol_versions.contains_key(arch.name()).then_some(Some(arch))
                }
            })?;
            Some(platform.platform(name, libc, only))
        })
    })
}

/// All names of built-in platforms.
pub(super) fn built_in_names() -> Vec<String> {
    let all = BUILT_IN.into_iter().flat_map(|(_, text)| platforms(text));
    all.flat_map(|platform| platform.names().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The built-in platforms of a libc, the oldest first. A file that satisfies a platform satisfies
/// all later platforms that have the file's architecture.
pub fn built_in_platforms(libc: Libc) -> Vec<platform::Platform> {
    let texts = BUILT_IN.into_iter().filter(|(own, _)| *own == libc);
    let all = texts.flat_map(|(_, text)| platforms(text));
    let mut all: Vec<_> = all.map(|one| one.platform(&one.name, libc, None)).collect();
    all.arrange_by_key(|platform| std::cmp::Reverse(platform.priority));
    all
}
