//! Which files import which: the paths that begin with `crate::` or `super::` in the code of each
//! file, followed to the file that defines the item. A parent's `mod` declarations, and rows of its
//! tables that name children, are not imports.

use super::source::Source;
use std::collections::{BTreeMap, BTreeSet};

/// A module as its path below the crate: `["resolve", "search"]`.
type Module = Vec<String>;

/// The files of a crate with what each defines and imports.
pub(crate) struct Imports {
    /// Files by module.
    files: BTreeMap<Module, String>,
    /// Imports of each file.
    edges: BTreeMap<String, BTreeSet<String>>,
}

impl Imports {
    /// Reads the imports of all files of `sources`.
    pub(crate) fn new(sources: &[Source]) -> Self {
        let files: BTreeMap<Module, String> =
            sources.iter().map(|source| (module_of(&source.path), source.path.clone())).collect();
        let code: BTreeMap<Module, String> = sources
            .iter()
            .map(|source| (module_of(&source.path), source.code_without_tests()))
            .collect();
        let mut uses: BTreeMap<&Module, Vec<Use>> = BTreeMap::new();
        let mut inline: BTreeMap<&Module, Vec<Vec<String>>> = BTreeMap::new();
        for (module, code) in &code {
            let (found, rest) = uses_of(code);
            uses.insert(module, found);
            inline.insert(module, inline_paths(&rest));
        }
        let known = Known { files: &files, uses: &uses };
        let mut edges = BTreeMap::new();
        for module in code.keys() {
            let imports = uses[module].iter().filter(|import| !import.is_exported);
            let mut paths: Vec<Vec<String>> = imports.map(|import| import.path.clone()).collect();
            paths.extend(inline[module].iter().cloned());
            let own = &files[module];
            let absolute = |path: Vec<String>| known.absolute(module, &path);
            let targets = paths
                .into_iter()
                .filter(|path| path[0] == "crate" || path[0] == "super")
                .filter_map(absolute)
                .map(|path| known.file(&path, 0))
                .filter(|target| target != own);
            edges.insert(own.clone(), targets.collect());
        }
        Self { files, edges }
    }

    /// Groups of files that import each other, directly or not.
    pub(crate) fn circles(&self) -> Vec<Vec<String>> {
        let reach: BTreeMap<&String, BTreeSet<&String>> =
            self.files.values().map(|file| (file, self.reachable(file))).collect();
        let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
        for (file, reached) in &reach {
            if reached.contains(*file) {
                let others = reached.iter().filter(|other| reach[**other].contains(*file));
                circles.insert(others.map(|other| (*other).clone()).collect());
            }
        }
        circles.into_iter().collect()
    }

    /// The files that a file imports, directly or not.
    fn reachable<'a>(&'a self, file: &'a String) -> BTreeSet<&'a String> {
        let mut out = BTreeSet::new();
        let mut todo = vec![file];
        while let Some(file) = todo.pop() {
            todo.extend(self.edges[file].iter().filter(|next| out.insert(*next)));
        }
        out
    }

    /// The imports among a group of files, for the message.
    pub(crate) fn inside(&self, circle: &[String]) -> Vec<String> {
        let inner = |file: &String| {
            let others = self.edges[file].iter().filter(|other| circle.contains(other));
            let others: Vec<&str> = others.map(String::as_str).collect();
            format!("  {file} imports {}", others.join(", "))
        };
        circle.iter().map(inner).collect()
    }
}

/// The module of a file below `src`; `lib.rs` is the crate.
fn module_of(path: &str) -> Module {
    let below = path.strip_prefix("src/").unwrap_or(path).trim_end_matches(".rs");
    let mut module: Module = below.split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib")) {
        module.pop();
    }
    module
}

/// One path of a `use`.
struct Use {
    path: Vec<String>,
    /// The name by which the file has it.
    name: String,
    /// True for `pub use` with any visibility.
    is_exported: bool,
}

struct Known<'a> {
    files: &'a BTreeMap<Module, String>,
    uses: &'a BTreeMap<&'a Module, Vec<Use>>,
}

impl Known<'_> {
    /// A path as seen from a module, relative to the crate; `None` for paths of other crates.
    fn absolute(&self, from: &Module, path: &[String]) -> Option<Vec<String>> {
        let mut base = from.clone();
        let mut rest = path;
        match rest[0].as_str() {
            "crate" => {
                base.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            child => {
                base.push(child.to_owned());
                let is_child = self.files.contains_key(&base);
                base.pop();
                if !is_child {
                    return None;
                }
            }
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    /// The file that defines what a path leads to: re-exports are followed.
    fn file(&self, path: &[String], depth: usize) -> String {
        let is_module = |length: &usize| self.files.contains_key(&path[..*length]);
        let length = (0..=path.len()).rev().find(is_module).unwrap_or_default();
        let module = path[..length].to_vec();
        if let Some(item) = path.get(length).filter(|_| depth < 8) {
            let uses = self.uses.get(&module).map_or(&[][..], Vec::as_slice);
            let exported = uses.iter().find(|import| import.is_exported && import.name == *item);
            if let Some(target) = exported.and_then(|import| self.absolute(&module, &import.path)) {
                let rest = path[length + 1..].iter().cloned();
                let target: Vec<String> = target.into_iter().chain(rest).collect();
                return self.file(&target, depth + 1);
            }
        }
        self.files[&module].clone()
    }
}

/// The paths of all `use` items in code without comments and strings, and the code without them.
fn uses_of(code: &str) -> (Vec<Use>, String) {
    let (mut out, mut rest, mut done) = (Vec::new(), String::new(), 0);
    for (at, _) in code.match_indices("use ") {
        let line = code[..at].rfind('\n').map_or(0, |at| at + 1);
        let before = code[line..at].trim();
        let is_exported = before.starts_with("pub");
        if !(before.is_empty() || is_exported && !before.contains(';')) {
            continue;
        }
        let Some(end) = code[at..].find(';') else { continue };
        spread(&[], &code[at + 4..at + end], &mut |path, name| {
            out.push(Use { path, name, is_exported });
        });
        rest.push_str(&code[done..at]);
        done = at + end;
    }
    rest.push_str(&code[done..]);
    (out, rest)
}

/// Takes the braces of a `use` apart.
fn spread(before: &[String], tree: &str, found: &mut impl FnMut(Vec<String>, String)) {
    let tree = tree.trim();
    if let Some((head, rest)) = tree.split_once('{') {
        let mut base = before.to_vec();
        base.extend(
            head.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned),
        );
        let inner = rest.trim_end().strip_suffix('}').unwrap_or(rest);
        let mut depth = 0;
        let mut start = 0;
        for (at, c) in inner.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    spread(&base, &inner[start..at], found);
                    start = at + 1;
                }
                _ => {}
            }
        }
        spread(&base, &inner[start..], found);
        return;
    }
    if tree.is_empty() {
        return;
    }
    let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
    let mut parts = before.to_vec();
    parts.extend(path.split("::").map(|part| part.trim().to_owned()));
    if parts.last().is_some_and(|part| part == "self") {
        parts.pop();
    }
    let name =
        if alias.is_empty() { parts[parts.len() - 1].clone() } else { alias.trim().to_owned() };
    found(parts, name);
}

/// Paths that begin with `crate::` or `super::` outside of `use` items.
fn inline_paths(code: &str) -> Vec<Vec<String>> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut out = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            if code[..at].ends_with(is_part) {
                continue;
            }
            let end = code[at..].find(|c| !is_part(c)).map_or(code.len(), |end| at + end);
            let parts = code[at..end].split("::").filter(|part| !part.is_empty());
            let path: Vec<String> = parts.map(str::to_owned).collect();
            if path.len() > 1 {
                out.push(path);
            }
        }
    }
    out
}

#[test]
fn a_circle_is_found() {
    let file = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let circles = |files: &[Source]| Imports::new(files).circles();
    let root = || file("src/lib.rs", "mod a;\nmod b;\n");
    let top = || file("src/a/mod.rs", "mod c;\nmod d;\npub use c::Thing;\nfn f() { d::g() }\n");
    let b = file("src/b.rs", "use super::a::{self as other, Thing};\n");
    let c = || file("src/a/c.rs", "use super::d;\npub struct Thing;\n");
    let d = |text: &str| file("src/a/d.rs", text);
    let free = [
        root(),
        top(),
        b,
        c(),
        d("// use super::c;\n#[cfg(test)]\nmod tests {\n    use super::super::c;\n}\n"),
    ];
    assert_eq!(circles(&free), Vec::<Vec<String>>::new());
    let plain = [root(), top(), c(), d("use super::c::Thing;\n")];
    assert_eq!(circles(&plain), [["src/a/c.rs", "src/a/d.rs"]]);
    // A re-export of the parent counts as the file that defines the item.
    let exported = [root(), top(), c(), d("fn f(_: super::Thing) {}\n")];
    assert_eq!(circles(&exported), [["src/a/c.rs", "src/a/d.rs"]]);
    // A parent that names itself from the crate on is in the circle with its child.
    let named = [
        root(),
        file("src/a/mod.rs", "use crate::a::c::Thing;\nfn f() {}\n"),
        c(),
        d("use super::f;\n"),
    ];
    assert_eq!(circles(&named).len(), 1);
    let inline = [root(), top(), c(), d("fn f(_: crate::a::c::Thing) {}\n")];
    assert_eq!(circles(&inline), [["src/a/c.rs", "src/a/d.rs"]]);
}
