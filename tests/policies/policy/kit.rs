//! Policies in memory, the policies of the repository, and policies without their places.

use linkaudit::policy::{Origin, Policy, PolicyFiles, builtin, load};
use linkaudit::rules::catalogue;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// Files by name.
#[derive(Default, Clone)]
pub(crate) struct Memory(pub(crate) BTreeMap<PathBuf, Vec<u8>>);

impl PolicyFiles for Memory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "no such file");
        self.0.get(path).cloned().ok_or_else(missing)
    }

    fn real(&self, path: &Path) -> PathBuf {
        Path::new("/").join(path)
    }
}

impl Memory {
    pub(crate) fn with(mut self, name: &str, text: impl AsRef<[u8]>) -> Self {
        self.0.insert(name.into(), text.as_ref().to_vec());
        self
    }

    /// The merged policy, or the text of all errors.
    pub(crate) fn load(&self, named: &[&str]) -> Result<Policy, String> {
        load(named.iter().map(OsStr::new), self, catalogue())
            .map_err(|mistakes| mistakes.render(false))
    }
}

/// One file, loaded.
pub(crate) fn one(text: &str) -> Result<Policy, String> {
    Memory::default().with("p.toml", text).load(&["p.toml"])
}

/// A file below `tests/policies/policy`.
pub(crate) fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policies/policy").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The template with everything that it names set.
pub(crate) fn template() -> String {
    let set = |line: &str| match line.strip_prefix('#') {
        Some(key) if key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '[') => {
            key.to_owned()
        }
        _ => line.to_owned(),
    };
    linkaudit::policy::TEMPLATE.lines().map(|line| set(line) + "\n").collect::<String>()
}

/// Valid policies, by name: fixtures, built-ins, the template.
pub(crate) fn right() -> Vec<(String, String)> {
    let fixtures = ["design.toml", "everything.toml", "forms.toml", "nothing.toml"];
    let fixtures = fixtures.map(|name| (name.to_owned(), file(&format!("valid/{name}"))));
    let built_in = builtin::BUILT_IN.iter().map(|p| (p.name.to_owned(), p.text.to_owned()));
    let template = [("the template".to_owned(), template())];
    fixtures.into_iter().chain(built_in).chain(template).collect()
}

/// TOML as an editor sees it through a JSON Schema.
pub(crate) fn json(text: &str) -> Value {
    let document = DeTable::parse(text).expect("a policy that loads is TOML");
    table(document.get_ref())
}

fn table(from: &DeTable<'_>) -> Value {
    from.iter().map(|(key, item)| (key.get_ref().to_string(), value(item.get_ref()))).collect()
}

fn value(from: &DeValue<'_>) -> Value {
    match from {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Value::Null, Value::from)
        }
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Value::Null, Value::from),
        DeValue::Boolean(is) => (*is).into(),
        DeValue::Datetime(date) => date.to_string().into(),
        DeValue::Array(items) => items.iter().map(|item| value(item.get_ref())).collect(),
        DeValue::Table(inner) => table(inner),
    }
}

/// The content of a policy, without the positions of its keys.
pub(crate) fn bare(mut policy: Policy) -> Policy {
    let clear = |origin: &mut Origin| *origin = Origin { source: "".into(), line: 0 };
    policy.sources.clear();
    policy.levels.iter_mut().for_each(|e| clear(&mut e.origin));
    policy.waivers.iter_mut().for_each(|e| clear(&mut e.origin));
    policy.required_files.iter_mut().for_each(|e| clear(&mut e.origin));
    policy.required_packages.iter_mut().for_each(|e| clear(&mut e.origin));
    policy.required_symbols.iter_mut().for_each(|e| clear(&mut e.origin));
    policy.forbidden_libraries.iter_mut().for_each(|e| clear(&mut e.origin));
    policy.forbidden_symbols.iter_mut().for_each(|e| clear(&mut e.origin));
    policy.version_limits.iter_mut().for_each(|e| clear(&mut e.origin));
    policy.hosts.iter_mut().for_each(|e| clear(&mut e.origin));
    policy.archives.iter_mut().for_each(|e| clear(&mut e.origin));
    policy.providers.iter_mut().for_each(|e| clear(&mut e.origin));
    policy.provided.iter_mut().for_each(|e| clear(&mut e.origin));
    policy.provided_only.iter_mut().for_each(|(_, origin)| clear(origin));
    policy.search_path.require.iter_mut().for_each(|(_, origin)| clear(origin));
    policy.search_path.allow.iter_mut().for_each(|(_, origin)| clear(origin));
    policy.gpu.targets.iter_mut().for_each(|(_, origin)| clear(origin));
    policy.gpu.exact.iter_mut().for_each(|(_, origin)| clear(origin));
    policy.gpu.loader.iter_mut().for_each(|(_, origin)| clear(origin));
    policy
}
