//! `--nix-closure FILE|-`: the store items of a closure, as `nix path-info --json` or `nix-store
//! -qR` writes them. `cli::plan` calls this module.

use crate::package::is_item_name;
use crate::text::{show, show_path};
use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The store directory for item names without a directory, if the JSON has no `storeDir`.
const STORE: &str = "/nix/store";

/// The items of the closure in `bytes`, sorted. Errors name `file`.
pub(super) fn items(bytes: &[u8], file: &Path) -> Result<Vec<PathBuf>> {
    let shown = show_path(file);
    let text = bytes.trim_ascii_start();
    let found = if text.starts_with(b"[") || text.starts_with(b"{") {
        let value: Value = serde_json::from_slice(bytes)
            .with_context(|| format!("--nix-closure {shown}: invalid JSON"))?;
        of_json(&value).map_err(|error| anyhow!("--nix-closure {shown}: {error}"))?
    } else {
        lines(bytes).map_err(|error| anyhow!("--nix-closure {shown}: {error}"))?
    };
    if found.is_empty() {
        bail!("--nix-closure {shown}: no store items");
    }
    Ok(found.into_iter().collect())
}

/// Reads one path per line, the format of `nix-store -qR`.
fn lines(bytes: &[u8]) -> Result<BTreeSet<PathBuf>, String> {
    let mut out = BTreeSet::new();
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.is_empty() {
            let found = item(OsStr::from_bytes(line));
            out.insert(found.map_err(|error| format!("line {}: {error}", at + 1))?);
        }
    }
    Ok(out)
}

/// Reads the layouts of `nix path-info --json`:
/// - an array of objects with `path` (up to Nix 2.18), or of paths
/// - an object with paths as keys (format 1)
/// - an object with `info`, whose keys are names in `storeDir` (format 2)
fn of_json(value: &Value) -> Result<BTreeSet<PathBuf>, String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match value {
        Value::Array(list) => {
            let paths = list.iter().enumerate().map(|(at, entry)| {
                let path = entry.get("path").or(Some(entry)).and_then(text);
                let path = path.ok_or_else(|| format!("entry {} has no path", at + 1))?;
                item(OsStr::new(&path))
            });
            paths.collect()
        }
        Value::Object(map) => match map.get("info") {
            Some(Value::Object(info)) => {
                let store = map.get("storeDir").and_then(text).unwrap_or_else(|| STORE.to_owned());
                info.keys().map(|name| item(Path::new(&store).join(name).as_os_str())).collect()
            }
            _ => map.keys().map(|path| item(OsStr::new(path))).collect(),
        },
        _ => Err("not a list of store items".to_owned()),
    }
}

/// Checks that `path` is the path of a store item.
fn item(path: &OsStr) -> Result<PathBuf, String> {
    let path = Path::new(path);
    let is_item = path.is_absolute() && path.file_name().is_some_and(is_item_name);
    if is_item {
        return Ok(path.to_path_buf());
    }
    Err(format!("`{}` is not the path of a store item", show(path.as_os_str().as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::items;
    use std::path::Path;

    #[test]
    fn layouts() {
        let one = "/nix/store/0123456789abcdfghijklmnpqrsvwxyz-a-1";
        let two = "/nix/store/1123456789abcdfghijklmnpqrsvwxyz-b";
        let name = |path: &str| path.rsplit('/').next().expect("a name").to_owned();
        let layouts = [
            format!("{two}\n{one}\n\n{one}\n"),
            format!(r#"[{{"path":"{one}","references":["{two}"]}},{{"path":"{two}"}}]"#),
            format!(r#"{{"{one}":{{"references":[]}},"{two}":null}}"#),
            format!(
                r#"{{"version":2,"storeDir":"/nix/store","info":{{"{}":{{}},"{}":{{}}}}}}"#,
                name(one),
                name(two)
            ),
            format!(r#"{{"info":{{"{}":{{}},"{}":{{}}}}}}"#, name(one), name(two)),
        ];
        for layout in layouts {
            let found = items(layout.as_bytes(), Path::new("x")).expect("a closure");
            assert_eq!(found, [Path::new(one), Path::new(two)], "{layout}");
        }
        for (bad, word) in [
            (format!("{one}\nfoo\n"), "line 2: `foo`"),
            (format!("{one}/lib\n"), "line 1"),
            (String::new(), "no store items"),
            ("[{\"narHash\":1}]".to_owned(), "entry 1 has no path"),
            ("{\"a\":1}".to_owned(), "`a` is not"),
            ("[\n[\n".to_owned(), "invalid JSON"),
        ] {
            let error = items(bad.as_bytes(), Path::new("x")).expect_err("no closure");
            assert!(format!("{error:#}").contains(word), "{bad}: {error:#}");
        }
    }
}
