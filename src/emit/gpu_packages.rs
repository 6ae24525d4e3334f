//! Packages that must be rebuilt for other GPU targets. The new targets are the targets of the
//! package and the targets that findings report as missing. Targets that a policy excludes are
//! dropped. The emitters for build systems and `rebuild-order` use this module.

use super::{Emission, Emitted};
use crate::finding::NOT_LISTED;
use crate::report::model::{File, ReportFinding};
use crate::text::show_path;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The rule that reports missing targets. If a policy allows only the targets that it lists, the
/// rule reports extra targets too.
const LISTED: &str = "gpu-target-missing";
/// The rules whose findings go away if a package is rebuilt for other targets.
const RULES: [&str; 2] = [LISTED, "gpu-target-incoherent"];

/// A package that must be rebuilt.
pub(super) struct Package<'a> {
    /// The prefix in which the package is installed.
    pub(super) prefix: &'a Path,
    /// Processors to build for, each with the length of its name. In the order of length and name,
    /// older processors come first.
    targets: BTreeSet<(usize, String)>,
    /// Processors that the policy excludes.
    extra: BTreeSet<String>,
    /// The files with device code that the findings name.
    pub(super) files: BTreeSet<PathBuf>,
}

impl Package<'_> {
    /// The processors to build for.
    pub(super) fn targets(&self) -> Vec<&str> {
        self.targets.iter().map(|(_, name)| &**name).collect()
    }

    fn add(&mut self, target: &str) {
        // Settings, such as `xnack+`, follow a colon. Build systems accept processors without
        // settings, because the package's own list of targets has the settings.
        let name = target.split(':').next().unwrap_or(target);
        self.targets.insert((name.len(), name.to_owned()));
    }
}

/// The packages that findings of [`RULES`] are about, in the order of their prefixes.
pub(super) fn packages<'a>(emission: &Emission<'a>) -> Vec<Package<'a>> {
    let mut out: BTreeMap<&Path, Package<'a>> = BTreeMap::new();
    let is_extra = |finding: &ReportFinding| {
        finding.rule == LISTED && finding.detail.as_deref() == Some(NOT_LISTED.as_bytes())
    };
    let is_about = |finding: &&&'a ReportFinding| RULES.contains(&&*finding.rule);
    let findings: Vec<&'a ReportFinding> = emission.report.findings.iter().collect();
    for finding in findings.iter().filter(is_about) {
        let (Some(prefix), Some(target)) = (finding.file.prefix.as_deref(), &finding.target) else {
            continue;
        };
        let new = || Package {
            prefix,
            targets: BTreeSet::new(),
            extra: BTreeSet::new(),
            files: BTreeSet::new(),
        };
        let package = out.entry(prefix).or_insert_with(new);
        let target = String::from_utf8_lossy(target);
        if !is_extra(finding) {
            package.add(&target);
        } else if !target.contains(':') {
            // A target with a setting does not exclude its processor, because another setting of
            // the processor may be on the policy's list.
            package.extra.insert(target.into_owned());
        }
        package.files.insert(finding.full_path());
    }
    for package in out.values_mut() {
        let files: Vec<&File> =
            emission.report.files.iter().filter(|f| f.path.starts_with(package.prefix)).collect();
        for target in files.iter().flat_map(|file| &file.targets) {
            package.add(target);
        }
        let Package { targets, extra, .. } = package;
        targets.retain(|(_, name)| !extra.contains(name));
    }
    out.into_values().collect()
}

/// Writes two lines for each package: a comment with its prefix, and the result of `line` for its
/// targets.
pub(super) fn lines(emission: &Emission<'_>, line: impl Fn(&[&str]) -> String) -> Emitted {
    let mut out = Emitted::default();
    for package in packages(emission) {
        let text = format!("# {}\n{}\n", show_path(package.prefix), line(&package.targets()));
        out.bytes.extend(text.into_bytes());
    }
    out
}
