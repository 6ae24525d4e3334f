//! Writes a merged policy as TOML, with a comment about the origin of each entry. Reading the
//! output as a policy gives the same entries.

use super::value_errors::parts;
use super::{
    ArchivePolicy, FileList, ForbiddenLibrary, HostEntry, LevelSetting, Origin, Pattern, Platform,
    Policy, ProviderEntry, RequiredPackage, SearchTag, SymbolAt, VersionLimit, Waiver,
};
use crate::catalogue::Level;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

/// Width to which lists are wrapped, in bytes.
const WIDTH: usize = 96;

impl Policy {
    /// The policy as TOML. Its paths are relative to the current directory.
    pub fn show(&self) -> String {
        let mut out = format!("# merged from {}\nschema = 1\n", self.sources.join(", "));
        let platforms = self.platforms.iter();
        let platforms = platforms.map(|one| (text(one.asked_name()), &one.origin));
        out += &list("extends", platforms);
        out += &self.platforms.iter().map(contents).collect::<String>();
        let levels = self.levels.iter();
        section(&mut out, "levels", levels.map(|set| (level(set), &set.origin)));
        for waiver in &self.waivers {
            entry(&mut out, "waive", &waiver_text(waiver), &waiver.origin);
        }
        let of = |kind: FileList| {
            let files = self.required_files.iter().filter(|file| file.list == kind);
            list(kind.key(), files.map(|file| (text(&file.text), &file.origin)))
        };
        let files = FileList::ALL.map(of).concat();
        let packages = self.required_packages.iter();
        let packages = packages.map(|package| (package_text(package), &package.origin));
        let packages = list("cmake-packages", packages);
        let symbols = |symbols: &[SymbolAt]| {
            let line = |symbol: &SymbolAt| (symbol_text(symbol), symbol.origin.clone());
            symbols.iter().map(line).collect::<Vec<_>>()
        };
        let required = symbols(&self.required_symbols);
        let required = list("symbols", required.iter().map(|(text, from)| (text.clone(), from)));
        lists(&mut out, "require", &[files, packages, required]);
        let libraries = self.forbidden_libraries.iter();
        let libraries = libraries.map(|library| (library_text(library), &library.origin));
        let forbidden = symbols(&self.forbidden_symbols);
        let forbidden = list("symbols", forbidden.iter().map(|(text, from)| (text.clone(), from)));
        lists(&mut out, "forbid", &[list("libraries", libraries), forbidden]);
        let provided = self.provided.iter().map(|name| (text(&name.soname), &name.origin));
        let only = self.provided_only.as_ref();
        let only = only.map(|(only, origin)| format!("only = {only} # {origin}\n"));
        lists(&mut out, "provided", &[list("libraries", provided), only.unwrap_or_default()]);
        let limits = self.version_limits.iter().map(|limit| {
            let number: Vec<String> = limit.newest.iter().map(u32::to_string).collect();
            (format!("{} = {}", key(&limit.family), text(&number.join("."))), &limit.origin)
        });
        section(&mut out, "limits.symbol-versions", limits);
        let tag = self.search_path.require.as_ref().map(|(tag, origin)| {
            let tag = match tag {
                SearchTag::Rpath => "rpath",
                SearchTag::Runpath => "runpath",
                SearchTag::None => "none",
            };
            (pair("require", tag), origin)
        });
        let texts = |name: &str, texts: &[String]| array(name, texts.iter().map(|one| text(one)));
        let allow = self.search_path.allow.as_ref();
        let allow = allow.map(|(entries, origin)| (texts("allow", entries), origin));
        section(&mut out, "search-path", tag.into_iter().chain(allow));
        let targets = self.gpu.targets.as_ref();
        let targets = targets.map(|(targets, origin)| (texts("targets", targets), origin));
        let exact = self.gpu.exact.as_ref();
        let exact = exact.map(|(exact, origin)| (format!("exact = {exact}"), origin));
        let loader = self.gpu.loader.as_ref();
        let loader = loader.map(|(loader, origin)| (pair("loader", loader), origin));
        section(&mut out, "gpu", targets.into_iter().chain(exact).chain(loader));
        for host in &self.hosts {
            entry(&mut out, "host", &host_text(host), &host.origin);
        }
        for archive in &self.archives {
            entry(&mut out, "archive", &archive_text(archive), &archive.origin);
        }
        for provider in &self.providers {
            entry(&mut out, "provider", &provider_text(provider), &provider.origin);
        }
        out
    }
}

/// The contents of a platform as comments: only its name can be read back.
fn contents(platform: &Platform) -> String {
    let mut out = String::new();
    let mut about = |title: String, names: Vec<String>| {
        let _ = writeln!(out, "\n# {title}:");
        for line in wrapped(&names) {
            let _ = writeln!(out, "#   {line}");
        }
    };
    let name = platform.asked_name();
    let mut libraries: Vec<(Vec<&str>, &[String])> = Vec::new();
    for (arch, rules) in &platform.rules {
        match libraries.iter_mut().find(|(_, same)| *same == rules.libraries) {
            Some((arches, _)) => arches.push(arch.name()),
            None => libraries.push((vec![arch.name()], &rules.libraries)),
        }
    }
    for (arches, libraries) in libraries {
        about(format!("{name} provides on {}", arches.join(", ")), libraries.to_vec());
    }
    let mut versions: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for (arch, rules) in &platform.rules {
        let own: Vec<String> = rules.limits.iter().flat_map(newest).collect();
        match versions.iter_mut().find(|(_, same)| *same == own) {
            Some((arches, _)) => arches.push(arch.name()),
            None if own.is_empty() => {}
            None => versions.push((vec![arch.name()], own)),
        }
    }
    for (arches, versions) in versions {
        let arches = arches.join(", ");
        about(format!("{name} has these newest symbol versions on {arches}"), versions);
    }
    let forbidden: BTreeSet<String> =
        platform.rules.values().flat_map(|rules| &rules.forbidden).map(forbidden_name).collect();
    if !forbidden.is_empty() {
        let forbidden = forbidden.into_iter().collect();
        about(format!("libraries of {name} do not export these symbols"), forbidden);
    }
    out
}

/// The newest numbered version in the list of a family, and all versions without a number, such as
/// `CXXABI_TM_1`.
fn newest(limit: &VersionLimit) -> Vec<String> {
    let listed = limit.listed.iter().flatten();
    let (numbers, others): (Vec<_>, Vec<_>) = listed.partition(|text| parts(text).is_some());
    let newest = numbers.into_iter().max_by_key(|text| parts(text));
    let named = |text: &String| format!("{}_{text}", limit.family);
    let out: Vec<String> = newest.into_iter().chain(others).map(named).collect();
    if out.is_empty() { vec![format!("{}: none", limit.family)] } else { out }
}

/// A symbol that a library does not export, as `SYMBOL (LIBRARY)`.
fn forbidden_name(symbol: &SymbolAt) -> String {
    match &symbol.library {
        Some(library) => format!("{} ({})", symbol.symbol.text(), library.text()),
        None => symbol.symbol.text().to_owned(),
    }
}

/// An array on one line, or on several lines if it is long.
fn array(name: &str, items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    let line = format!("{name} = [{}]", items.join(", "));
    if line.len() <= WIDTH {
        return line;
    }
    format!("{name} = [\n    {}\n]", wrapped(&items).join("\n    "))
}

/// Names with commas between them, wrapped to lines of about [`WIDTH`] bytes.
fn wrapped(names: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let comma = if at + 1 < names.len() { "," } else { "" };
        match lines.last_mut().filter(|line| line.len() + 1 + name.len() < WIDTH) {
            Some(line) => drop(write!(line, " {name}{comma}")),
            None => lines.push(format!("{name}{comma}")),
        }
    }
    lines
}

/// Writes a table with one line for each value; writes nothing without values.
fn section<'a>(out: &mut String, name: &str, lines: impl Iterator<Item = (String, &'a Origin)>) {
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        let _ = writeln!(out, "\n[{name}]");
    }
    for (line, origin) in lines {
        let _ = writeln!(out, "{line} # {origin}");
    }
}

/// A list with one line for each item; empty without items.
fn list<'a>(name: &str, items: impl Iterator<Item = (String, &'a Origin)>) -> String {
    let mut out = String::new();
    for (item, origin) in items {
        let _ = writeln!(out, "    {item}, # {origin}");
    }
    if out.is_empty() { out } else { format!("{name} = [\n{out}]\n") }
}

fn lists<const N: usize>(out: &mut String, name: &str, lists: &[String; N]) {
    let lists = lists.concat();
    if !lists.is_empty() {
        let _ = write!(out, "\n[{name}]\n{lists}");
    }
}

fn entry(out: &mut String, name: &str, lines: &str, origin: &Origin) {
    let _ = write!(out, "\n[[{name}]] # {origin}\n{lines}");
}

/// A basic string of TOML; characters that could affect a terminal are escaped.
fn text(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        let acts = crate::text::show(c.encode_utf8(&mut [0; 4]).as_bytes()) != c.to_string();
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            _ if acts => drop(write!(out, "\\U{:08x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

fn quoted(pattern: &Pattern) -> String {
    text(pattern.text())
}

fn key(name: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !name.is_empty() && name.bytes().all(bare) { name.to_owned() } else { text(name) }
}

fn pair(name: &str, value: &str) -> String {
    format!("{name} = {}", text(value))
}

fn level(set: &LevelSetting) -> String {
    let level = match set.level {
        Level::Allow => "allow",
        Level::Warning => "warn",
        Level::Error => "deny",
    };
    pair(&key(&set.name), level)
}

fn path_text(path: &Path) -> String {
    text(&path.to_string_lossy())
}

/// The lines of a `[[waive]]` entry.
fn waiver_text(waiver: &Waiver) -> String {
    let mut out = format!("{}\n", pair("rule", &waiver.rule));
    for (key, pattern) in waiver.selectors() {
        let _ = writeln!(out, "{key} = {}", quoted(pattern));
    }
    let _ = writeln!(out, "{}", pair("reason", &waiver.reason));
    if let Some(day) = waiver.expires {
        let _ = writeln!(out, "expires = {:04}-{:02}-{:02}", day.year, day.month, day.day);
    }
    out
}

/// A required or forbidden symbol, as an inline table.
fn symbol_text(symbol: &SymbolAt) -> String {
    let patterns = [("path", &symbol.path), ("library", &symbol.library)].into_iter();
    let patterns =
        patterns.filter_map(|(name, p)| Some(format!("{name} = {}", quoted(p.as_ref()?))));
    let reason = symbol.reason.iter().map(|reason| pair("reason", reason));
    let name = [format!("symbol = {}", quoted(&symbol.symbol))];
    format!("{{ {} }}", patterns.chain(name).chain(reason).collect::<Vec<_>>().join(", "))
}

fn package_text(package: &RequiredPackage) -> String {
    let name = [pair("name", &package.name)].into_iter();
    let components: Vec<String> = package.components.iter().map(|name| text(name)).collect();
    let components = Some(format!("components = [{}]", components.join(", ")))
        .filter(|_| !package.components.is_empty());
    let reason = package.reason.iter().map(|reason| pair("reason", reason));
    format!("{{ {} }}", name.chain(components).chain(reason).collect::<Vec<_>>().join(", "))
}

fn library_text(library: &ForbiddenLibrary) -> String {
    let name = [format!("name = {}", quoted(&library.name))].into_iter();
    let reason = library.reason.iter().map(|reason| pair("reason", reason));
    format!("{{ {} }}", name.chain(reason).collect::<Vec<_>>().join(", "))
}

/// The lines of a `[[host]]` entry.
pub(super) fn host_text(host: &HostEntry) -> String {
    let mut out = format!("{}\n", pair("name", &host.name));
    let lists =
        [("plugins", &host.plugins), ("exports", &host.exports), ("symbols", &host.symbols)];
    for (name, patterns) in lists {
        if !patterns.is_empty() {
            let _ = writeln!(out, "{}", array(name, patterns.iter().map(quoted)));
        }
    }
    if let Some(executable) = &host.executable {
        let _ = writeln!(out, "{}", pair("executable", executable));
    }
    if !host.loads.is_empty() {
        let _ = writeln!(out, "{}", array("loads", host.loads.iter().map(|path| text(path))));
    }
    if let Some(list) = &host.list {
        let _ = writeln!(out, "{}", pair("list", list));
    }
    out
}

/// The lines of an `[[archive]]` entry.
pub(super) fn archive_text(archive: &ArchivePolicy) -> String {
    let mut out = format!("match = {}\n", quoted(&archive.matches));
    if !archive.covers.is_empty() {
        let _ = writeln!(out, "{}", array("covers", archive.covers.iter().map(quoted)));
    }
    if let Some(list) = &archive.deps_list {
        let _ = writeln!(out, "deps-list = {}", path_text(list));
    }
    if !archive.from.is_empty() {
        let sets = archive.from.iter();
        let sets: Vec<String> =
            sets.map(|(set, dir)| format!("{} = {}", key(set), path_text(dir))).collect();
        let _ = writeln!(out, "from = {{ {} }}", sets.join(", "));
    }
    out
}

fn provider_text(provider: &ProviderEntry) -> String {
    let mut out =
        format!("{}\n{}\n", pair("symbol", &provider.symbol), pair("archive", &provider.archive));
    if let Some(list) = &provider.list {
        let _ = writeln!(out, "{}", pair("list", list));
    }
    if let Some(path) = &provider.path {
        let _ = writeln!(out, "{}", pair("path", path.text()));
    }
    out
}
