//! `dot`: the graph of the audited files and the libraries that they load, for graphviz. Files with
//! errors or warnings, and libraries that were not found, are red. Only edges to libraries that
//! were not found have labels: a graph of 200 libraries with more labels is hard to read.

use super::Rendering;
use super::model::Report;
use crate::id::{FastMap, FastSet};
use crate::text::{last_part, show};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;

pub(super) fn render(report: &Report, _: &Rendering<'_>, out: &mut dyn Write) -> io::Result<()> {
    let broken: FastSet<Vec<u8>> = report
        .faults()
        .map(|finding| finding.full_path().into_os_string().into_encoded_bytes())
        .collect();
    let roots: FastSet<&[u8]> = report
        .files
        .iter()
        .filter_map(|file| file.root.as_deref())
        .map(|root| root.as_os_str().as_bytes())
        .collect();
    let mut numbers: FastMap<&[u8], usize> = FastMap::default();
    writeln!(
        out,
        "digraph linkaudit {{\n  rankdir=LR;\n  ranksep=1;\n  node [shape=box, fontsize=10];"
    )?;
    for (number, file) in report.files.iter().enumerate() {
        let path = file.path.as_os_str().as_bytes();
        numbers.insert(path, number);
        let label = quoted(&show(last_part(path)));
        let mut looks = String::new();
        if roots.contains(path) {
            looks.push_str(", style=bold");
        }
        if broken.contains(path) {
            looks.push_str(", color=red, fontcolor=red");
        }
        writeln!(out, "  f{number} [label={label}, tooltip={}{looks}];", quoted(&show(path)))?;
    }
    // The loader may open a file through a link. If the report has no file at the opened path, the
    // file name or soname identifies the file.
    let mut by_name: FastMap<&[u8], usize> = FastMap::default();
    for (number, file) in report.files.iter().enumerate() {
        by_name.entry(last_part(file.path.as_os_str().as_bytes())).or_insert(number);
        if let Some(soname) = file.soname.as_deref() {
            by_name.entry(soname).or_insert(number);
        }
    }
    let mut others: FastMap<(&[u8], bool), usize> = FastMap::default();
    for (number, file) in report.files.iter().enumerate() {
        let mut drawn = FastSet::default();
        for need in &file.needed {
            let found = need.path.as_deref();
            if let Some(to) =
                found.and_then(|path| numbers.get(path).or_else(|| by_name.get(last_part(path))))
            {
                if drawn.insert(*to) {
                    writeln!(out, "  f{number} -> f{to};")?;
                }
                continue;
            }
            let name = found.unwrap_or(&need.name);
            let next = others.len();
            let is_new = !others.contains_key(&(name, found.is_some()));
            let to = *others.entry((name, found.is_some())).or_insert(next);
            if is_new {
                let label = quoted(&show(last_part(name)));
                let looks = if found.is_some() {
                    "style=dotted"
                } else {
                    "style=dashed, color=red, fontcolor=red"
                };
                writeln!(
                    out,
                    "  o{to} [label={label}, tooltip={}, {looks}];",
                    quoted(&show(name))
                )?;
            }
            let looks = if found.is_some() {
                ""
            } else {
                " [color=red, label=\"not found\", fontcolor=red]"
            };
            writeln!(out, "  f{number} -> o{to}{looks};")?;
        }
    }
    writeln!(out, "}}")
}

/// A quoted string that graphviz shows unchanged. Graphviz interprets quotes, backslashes
/// (escString) and HTML entities in labels.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '&' => out.push_str("&amp;"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn nothing_leaves_the_string() {
        assert_eq!(quoted(r#"a"b\"#), r#""a\"b\\""#);
        assert_eq!(quoted(r"\N &lt;"), r#""\\N &amp;lt;""#);
    }
}
