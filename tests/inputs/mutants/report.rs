//! The JSON report of linkaudit, reduced to the facts by which mutants are checked.
//!
//! Every key of the report that this test depends on is named here and nowhere else.

use std::collections::BTreeMap;

use base64::Engine;
use serde_json::Value;

use super::facts::{Facts, Name, exported};

/// Rules for files, or parts of files, that could not be read or decided.
const DAMAGE: [&str; 5] =
    ["unreadable", "malformed", "undecided", "bad-library-file", "readers-disagree"];

#[derive(Default)]
pub struct Report {
    /// Rules of the damage found, by file name.
    pub damage: BTreeMap<String, Vec<String>>,
    pub files: BTreeMap<String, Facts>,
}

impl Report {
    pub fn parse(json: &[u8]) -> Result<Self, String> {
        let report: Value = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let mut all = Self::default();
        for finding in list(&report["findings"])? {
            let rule = finding["rule"].as_str().ok_or("a finding without a rule")?;
            if DAMAGE.contains(&rule) {
                let path = file_name(&finding["path"]);
                all.damage.entry(path).or_default().push(rule.to_owned());
            }
        }
        for file in list(&report["files"])? {
            all.files.insert(file_name(&file["path"]), facts(file)?);
        }
        Ok(all)
    }
}

fn list(value: &Value) -> Result<&[Value], String> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| format!("not a list: {value}"))
}

/// The last component of a path: the mutants of a run have unequal names.
fn file_name(value: &Value) -> String {
    let path = name(value).unwrap_or_default();
    let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    String::from_utf8_lossy(last).into_owned()
}

/// A name of the audited data: a string, or an object with its bytes where it is not UTF-8.
fn name(value: &Value) -> Option<Name> {
    match value {
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Object(object) => {
            let bytes = object.get("bytes")?.as_str()?;
            base64::engine::general_purpose::STANDARD.decode(bytes).ok()
        }
        _ => None,
    }
}

fn facts(file: &Value) -> Result<Facts, String> {
    let needed = list(&file["needed"])?.iter().filter_map(|need| name(&need["name"])).collect();
    let exports = list(&file["exports"])?
        .iter()
        .filter_map(|export| Some(exported(&name(&export["name"])?, name(&export["version"]))))
        .collect();
    Ok(Facts {
        needed,
        soname: name(&file["soname"]),
        rpath: name(&file["rpath"]),
        runpath: name(&file["runpath"]),
        exports: Some(exports),
        filters: Vec::new(),
    })
}
