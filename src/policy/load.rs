//! Loads built-in policies and policy files with the policies that they extend, and merges them in
//! order. All errors are returned together. Files are opened only through [`PolicyFiles`], which
//! the command line implements.

use super::build::{Built, build};
use super::builtin::{self, BUILT_IN};
use super::errors::{PolicyError, PolicyErrors, PolicySource};
use super::{BUILT_IN_ORIGIN, Policy, wheel};
use crate::catalogue::Catalogue;
use crate::text::{show, show_path};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use toml::de::DeTable;

/// Maximum length of a chain of `extends`.
const MOST_DEEP: usize = 32;

/// Reads policy files for [`load`]. The command line implements this trait.
pub trait PolicyFiles {
    /// The content of a file, or the error of opening or reading it.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// A path that identifies the file: it is the same for all names of the file.
    fn real(&self, path: &Path) -> PathBuf;
}

/// The range of the text that names a policy, with the policy that contains this text. `None` if
/// the command line names the policy.
type TextRange = Option<(Arc<PolicySource>, Range<usize>)>;

/// Merges the built-in default, then the policies in `named`, in order. Each item of `named` is
/// the name of a built-in policy or the path of a file. A policy that is named or extended
/// several times is merged at its first occurrence. The error holds all errors of these policies.
pub fn load<'a>(
    named: impl IntoIterator<Item = &'a OsStr>,
    files: &dyn PolicyFiles,
    catalogue: &Catalogue,
) -> Result<Policy, PolicyErrors> {
    let mut loader = PolicyLoader {
        files,
        catalogue,
        merged: Policy::default(),
        problems: Vec::new(),
        done: BTreeSet::new(),
        open: Vec::new(),
    };
    for name in [OsStr::new(builtin::DEFAULT.name)].into_iter().chain(named) {
        loader.named(name, Path::new(""), &None);
    }
    PolicyErrors::of(loader.problems)?;
    Ok(loader.merged)
}

struct PolicyLoader<'a> {
    files: &'a dyn PolicyFiles,
    /// The rules that policies may name.
    catalogue: &'a Catalogue,
    merged: Policy,
    problems: Vec<PolicyError>,
    /// Identities of policies that were merged or rejected.
    done: BTreeSet<PathBuf>,
    /// The chain of `extends` down to the current policy: identity and name of each.
    open: Vec<(PathBuf, String)>,
}

impl PolicyLoader<'_> {
    fn wrong(&mut self, place: &TextRange, wrong: String, right: impl Into<String>) {
        let place = place.clone();
        self.problems.push(PolicyError { place, wrong, right: right.into(), lacking: false });
    }

    /// Merges the policy called `name`; `dir` is the base of a relative path.
    fn named(&mut self, name: &OsStr, dir: &Path, place: &TextRange) {
        let text = name.to_str().unwrap_or_default();
        if let Some(policy) = builtin::find(text) {
            // The identity of a file is an absolute path, so it differs from the names of all
            // built-in policies.
            let source = PolicySource::new(policy.name.into(), policy.text.to_owned());
            let origin = format!("{BUILT_IN_ORIGIN}{}", policy.name).into();
            return self.policy(policy.name.into(), source, &origin, Path::new(""), place);
        }
        if let Some(platform) = wheel::built_in(text) {
            if self.done.insert(text.into()) {
                let (sources, platforms) = (vec![text.into()], vec![platform]);
                self.merged.append(Policy { sources, platforms, ..Policy::default() });
            }
            return;
        }
        // `FILE#PLATFORM` names one platform in a policy file of auditwheel.
        let (file, tag) = match wheel::split(text) {
            Some((file, tag)) => (OsStr::new(file), Some(tag)),
            None => (name, None),
        };
        let here = |part: &Component<'_>| place.is_some() && *part == Component::CurDir;
        let path = dir.join(file);
        let path: PathBuf = path.components().filter(|part| !here(part)).collect();
        let mut shown = show_path(&path);
        let mut identity = self.files.real(&path);
        if let Some(Some(tag)) = tag {
            shown = format!("{shown}#{}", show(tag.as_bytes()));
            identity.as_mut_os_string().push(format!("#{tag}"));
        }
        if self.done.contains(&identity) {
            return;
        }
        let read = match self.files.read(&path) {
            Ok(bytes) => self.text(bytes, &shown, place),
            Err(error) => {
                self.unreadable(text, &shown, &error, place);
                None
            }
        };
        let Some(text) = read else {
            self.done.insert(identity);
            return;
        };
        if place.is_some() && !is_policy(&text, tag.is_some()) {
            self.done.insert(identity);
            let wrong = format!(
                "{shown} is not a policy: it is not {}",
                match tag {
                    Some(_) => "JSON",
                    None => "TOML with the key `schema`",
                }
            );
            let right = "`linkaudit policy check FILE` reports the errors of a policy";
            return self.wrong(place, wrong, right);
        }
        let name: Arc<str> = shown.into();
        let source = PolicySource::new(Arc::clone(&name), text);
        if let Some(tag) = tag {
            return self.wheel(identity, source, &name, tag);
        }
        let dir = path.parent().unwrap_or(Path::new("")).to_path_buf();
        self.policy(identity, source, &name, &dir, place);
    }

    /// Bytes as text, without a byte order mark. Records an error if they are not UTF-8.
    fn text(&mut self, bytes: Vec<u8>, shown: &str, place: &TextRange) -> Option<String> {
        match String::from_utf8(bytes) {
            Ok(text) => Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let line = error.as_bytes()[..at].split(|b| *b == b'\n').count();
                let wrong = format!("{shown} is not UTF-8: line {line}");
                self.wrong(place, wrong, "write the policy in UTF-8");
                None
            }
        }
    }

    /// Merges one platform from a policy file of auditwheel: the platform called `tag`, or the only
    /// platform of the file.
    fn wheel(
        &mut self,
        identity: PathBuf,
        source: PolicySource,
        origin: &Arc<str>,
        tag: Option<&str>,
    ) {
        self.done.insert(identity);
        match wheel::build(&Arc::new(source), origin, tag) {
            Ok(policy) => {
                self.merged.append(Policy { sources: vec![Arc::clone(origin)], ..policy });
            }
            Err(problem) => self.problems.push(problem),
        }
    }

    fn unreadable(&mut self, name: &str, shown: &str, error: &io::Error, place: &TextRange) {
        let mut names: Vec<&str> = BUILT_IN.iter().map(|policy| policy.name).collect();
        let platforms = wheel::built_in_names();
        names.extend(platforms.iter().map(String::as_str));
        if error.kind() == io::ErrorKind::NotFound
            && !name.contains('/')
            && let Some(right) = meant(name, &names)
        {
            let wrong = format!("`{shown}` is neither a built-in policy nor a file");
            return self.wrong(place, wrong, right);
        }
        let wrong = format!("cannot read policy {shown}: {}", plain(error));
        self.wrong(place, wrong, "name an existing file, or a built-in policy");
    }

    /// Merges a policy after the policies that it extends.
    fn policy(
        &mut self,
        identity: PathBuf,
        source: PolicySource,
        origin: &Arc<str>,
        dir: &Path,
        place: &TextRange,
    ) {
        if let Some(from) = self.open.iter().position(|(open, _)| *open == identity) {
            let circle = self.open[from..].iter().map(|(_, name)| name.as_str());
            let circle: Vec<&str> = circle.chain([&*source.name]).collect();
            let wrong = format!("policies extend each other in a circle: {}", circle.join(" > "));
            return self.wrong(place, wrong, "remove this one");
        }
        if self.done.contains(&identity) {
            return;
        }
        if self.open.len() >= MOST_DEEP {
            let wrong = format!("more than {MOST_DEEP} policies extend each other");
            return self.wrong(place, wrong, "merge some of them");
        }
        let source = Arc::new(source);
        let Built { mut policy, extends, problems } = build(&source, origin, dir, self.catalogue);
        self.problems.extend(problems);
        self.open.push((identity.clone(), source.name.to_string()));
        for (name, span) in extends {
            let place = Some((Arc::clone(&source), span));
            self.named(OsStr::new(&name), dir, &place);
        }
        self.open.pop();
        self.done.insert(identity);
        policy.sources = vec![Arc::clone(&source.name)];
        self.merged.append(policy);
    }
}

impl Policy {
    /// The paths of the merged policy files, as in reports. Built-in policies have none.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let names = self.sources.iter().map(|name| &**name);
        names.filter(|name| !is_built_in(name)).map(|name| Path::new(split_tag(name).0))
    }
}

/// True if a policy of this name is built in.
pub fn is_built_in(name: &str) -> bool {
    builtin::find(name).is_some() || wheel::built_in(name).is_some()
}

/// The names of all built-in policies.
pub fn built_in_names() -> Vec<String> {
    let files = BUILT_IN.iter().map(|policy| policy.name.to_owned());
    files.chain(wheel::built_in_names()).collect()
}

/// Splits the name of a policy: the file, and the platform that the name selects in a file of
/// auditwheel (`FILE#PLATFORM`). The platform is `None` if the name selects none.
pub fn split_tag(name: &str) -> (&str, Option<&str>) {
    wheel::split(name).unwrap_or((name, None))
}

/// True if the file has the format of a policy. Only files that a policy extends are checked. Error
/// messages show lines of the file, so without this check a policy could print lines of any file.
fn is_policy(text: &str, is_json: bool) -> bool {
    if is_json {
        return serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    }
    DeTable::parse(text).is_ok_and(|table| table.get_ref().contains_key("schema"))
}

/// The text of an error in lower case, without the number that Rust appends.
fn plain(error: &io::Error) -> String {
    let text = show(error.to_string().as_bytes());
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// A correction with the built-in policies that a name may mean; `names` are all built-in policies.
/// `None` if the name looks like a file name.
fn meant(name: &str, names: &[&str]) -> Option<String> {
    // The nearest name may be another release, so the correction lists all releases.
    let family =
        ["manylinux_", "musllinux_", "rocm-"].into_iter().find(|family| name.starts_with(family));
    if let Some(family) = family {
        let all: Vec<&str> = names.iter().copied().filter(|own| own.starts_with(family)).collect();
        return Some(format!("use one of {}", all.join(", ")));
    }
    match crate::text::nearest(name, names.iter().copied()) {
        Some(near) => Some(format!("did you mean `{near}`?")),
        None if name.contains('.') => None,
        None => {
            let named = names[..BUILT_IN.len()].join(", ");
            Some(format!("built in are {named} and the platforms manylinux_* and musllinux_*"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PolicyFiles, load};
    use crate::catalogue::Level;
    use crate::policy::Policy;
    use std::collections::BTreeMap;
    use std::ffi::OsStr;
    use std::io;
    use std::path::{Path, PathBuf};

    /// Files by name.
    struct Memory(BTreeMap<PathBuf, &'static str>);

    impl PolicyFiles for Memory {
        fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
            let text = self.0.get(path).ok_or(io::ErrorKind::NotFound)?;
            Ok(text.as_bytes().to_vec())
        }

        fn real(&self, path: &Path) -> PathBuf {
            Path::new("/").join(path)
        }
    }

    fn loaded(files: &[(&str, &'static str)], named: &[&str]) -> Result<Policy, String> {
        let files = Memory(files.iter().map(|(name, text)| (PathBuf::from(name), *text)).collect());
        let loaded = load(named.iter().map(OsStr::new), &files, crate::rules::catalogue());
        loaded.map_err(|mistakes| mistakes.render(false))
    }

    const BASE: &str = "schema = 1\n[levels]\nsymbol = \"warn\"\nmalformed = \"allow\"\n\
        [gpu]\ntargets = [\"gfx90a\"]\n[require]\nfiles = [\"a\", \"b\"]\n";
    const NEXT: &str = "schema = 1\nextends = [\"base.toml\"]\n[levels]\nsymbol = \"deny\"\n\
        [gpu]\ntargets = [\"gfx1030\"]\n[require]\nfiles = [\"b\", \"c\"]\n\
        [[archive]]\nmatch = \"a.a\"\ndeps-list = \"list.cmake\"\n";

    #[test]
    fn policies_merge_in_order_and_once() {
        let files = [("d/base.toml", BASE), ("d/next.toml", NEXT)];
        let policy = loaded(&files, &["d/next.toml", "d/base.toml"]).expect("they are right");
        let names: Vec<&str> = policy.sources.iter().map(|name| &**name).collect();
        assert_eq!(names, ["default", "d/base.toml", "d/next.toml"]);
        let levels: Vec<_> = policy.levels.iter().map(|set| (&*set.name, set.level)).collect();
        assert_eq!(levels, [("malformed", Level::Allow), ("symbol", Level::Error)]);
        let files: Vec<_> = policy.required_files.iter().map(|file| file.path.text()).collect();
        assert_eq!(files, ["a", "b", "c"]);
        assert_eq!(policy.gpu.targets.expect("targets").0, ["gfx1030"]);
        assert_eq!(policy.archives[0].deps_list.as_deref(), Some(Path::new("d/list.cmake")));
        assert_eq!(
            (policy.archives[0].origin.line, &*policy.archives[0].origin.source),
            (9, "d/next.toml")
        );
    }

    #[test]
    fn circles_and_what_is_not_there_are_mistakes_of_the_file_that_names_it() {
        let files = [
            ("a.toml", "schema = 1\nextends = [\"b.toml\", \"defalt\"]\n"),
            ("b.toml", "schema = 1\nextends = [\"./a.toml\"]\n"),
        ];
        let text = loaded(&files, &["a.toml", "c.toml"]).expect_err("they are wrong");
        assert!(text.contains("a.toml > b.toml > a.toml\n --> b.toml:2:12\n"), "{text}");
        assert!(
            text.contains(" --> a.toml:2:22\n") && text.contains("did you mean `default`?"),
            "{text}"
        );
        assert!(text.contains("cannot read policy c.toml: entity not found"), "{text}");
    }

    #[test]
    fn built_in_policies_are_right() {
        for policy in crate::policy::builtin::BUILT_IN {
            loaded(&[], &[policy.name]).unwrap_or_else(|text| panic!("{}:\n{text}", policy.name));
        }
    }
}
