//! The output of `readelf` for a file, as lines that `facts` and `classes` write too.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::clean;

/// The output of `readelf` with these options.
pub(crate) fn run(options: &[&str], path: &Path) -> String {
    let output = clean("readelf").args(options).arg(path).output().expect("readelf runs");
    assert!(output.status.success(), "readelf {options:?} {}", path.display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The facts of `facts::of`.
pub(crate) fn facts(path: &Path) -> Vec<String> {
    let mut out = dynamic(&run(&["-dW"], path));
    let versions = versions(&run(&["-VW"], path));
    for line in run(&["-W", "--dyn-syms"], path).lines() {
        if let Some(symbol) = Symbol::parse(line).filter(|symbol| symbol.index != 0) {
            out.push(symbol.line(&versions));
        }
    }
    out
}

fn dynamic(text: &str) -> Vec<String> {
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in text.lines() {
        let tag = line.split_once('(').and_then(|(_, rest)| Some(rest.split_once(')')?.0));
        let value = line.split_once('[').and_then(|(_, rest)| rest.strip_suffix(']'));
        if let (Some(tag), Some(value)) = (tag, value) {
            values.entry(tag).or_default().push(value);
        }
    }
    let words =
        [("NEEDED", "needed"), ("SONAME", "soname"), ("RPATH", "rpath"), ("RUNPATH", "runpath")];
    let lines = |(tag, word): (&str, &str)| {
        let list = values.get(tag).cloned().unwrap_or_default();
        list.into_iter().map(|value| format!("{word} {value}")).collect::<Vec<_>>()
    };
    words.into_iter().flat_map(lines).collect()
}

/// The entry of the version table for every symbol.
fn versions(text: &str) -> Vec<String> {
    let table = text.split("Version symbols section").nth(1).unwrap_or_default();
    let table = table.split("\nVersion ").next().unwrap_or_default();
    let mut out = Vec::new();
    for line in table.lines().skip(2) {
        let Some((_, mut rest)) = line.split_once(':') else { continue };
        while let Some((index, after)) = rest.split_once('(') {
            let Some((name, next)) = after.split_once(')') else { break };
            out.push(format!("{} {name}", index.trim()));
            rest = next;
        }
    }
    out
}

/// A line of `--dyn-syms`.
struct Symbol<'a> {
    index: usize,
    value: u64,
    size: u64,
    kind: &'a str,
    bind: &'a str,
    visibility: &'a str,
    section: &'a str,
    name: &'a str,
}

impl<'a> Symbol<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let index = words.next()?.strip_suffix(':')?.parse().ok()?;
        let value = u64::from_str_radix(words.next()?, 16).ok()?;
        let size = words.next()?;
        let size = match size.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok()?,
            None => size.parse().ok()?,
        };
        let (kind, bind, visibility) = (words.next()?, words.next()?, words.next()?);
        // Notes of one machine stand in brackets before the section.
        let mut section = words.next()?;
        if section.starts_with('[') {
            while !section.ends_with(']') {
                section = words.next()?;
            }
            section = words.next()?;
        }
        let name = words.next().unwrap_or_default();
        Some(Self { index, value, size, kind, bind, visibility, section, name })
    }

    fn line(&self, versions: &[String]) -> String {
        let bind = match self.bind {
            "LOCAL" => 0,
            "GLOBAL" => 1,
            "WEAK" => 2,
            "UNIQUE" => 10,
            other => panic!("STB_{other}"),
        };
        let kind = match self.kind {
            "NOTYPE" => 0,
            "OBJECT" => 1,
            "FUNC" => 2,
            "SECTION" => 3,
            "TLS" => 6,
            "IFUNC" => 10,
            // Thumb and milli code.
            "REGISTER" | "PARISC_MILLI" => 13,
            other => panic!("STT_{other}"),
        };
        let visibility = match self.visibility {
            "DEFAULT" => 0,
            "INTERNAL" => 1,
            "HIDDEN" => 2,
            "PROTECTED" => 3,
            other => panic!("STV_{other}"),
        };
        let section = match self.section {
            "UND" => 0,
            "ABS" => 0xfff1,
            "COM" => 0xfff2,
            number => number.parse().unwrap_or_else(|_| panic!("section {number}")),
        };
        let name = if kind == 3 { "" } else { self.name.split('@').next().unwrap_or_default() };
        let version = versions.get(self.index).map_or("none", String::as_str);
        format!(
            "{} {name} {:x} {} bind {bind} type {kind} vis {visibility} section {section} version {version}",
            self.index, self.value, self.size
        )
    }
}
