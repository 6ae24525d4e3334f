//! `missing-dlopen`: a library that an object's dlopen note requires is not found, or the note is
//! damaged.

use super::{Query, Rule};
use crate::audit::MissingDlopen;
use crate::catalogue::LINK_HYGIENE;
use crate::finding::{Finding, Findings};
use crate::text::{show, show_path};
use crate::wants::Wants;

pub(super) static RULE: Rule = Rule::new(
    "missing-dlopen",
    LINK_HYGIENE,
    "a library that an object must open with dlopen is not found",
    DOCS,
    check,
)
.keys(&["library", "detail"])
.wants(Wants::DLOPEN_NOTES);

const DOCS: &str = "\
## What it does

Reads the notes in which an object names the libraries that it opens with dlopen (section `.note.dlopen`, owner
`FDO`). Reports an entry of priority `required` if the loader finds none of its libraries. The loader searches as for a
needed library of that object. It searches the object's DT_RUNPATH, or the DT_RPATH of the objects that load it, then
the cache and the default directories. musl searches as for a needed library of the program. A library that the process
has loaded before counts as found. In a path, such as `$ORIGIN/plugins/libbar.so.1`, tokens have the values of the
object with the note.

## Why it matters

Such a library is not in DT_NEEDED. The loader does not search for it when the program starts, and tools that
generate package dependencies from DT_NEEDED miss it.
The program fails, or lacks a feature, when it tries to open the library.

## Example

```text
warning[missing-dlopen] lib/libfoo.so: must open libbar.so.1 with dlopen (feature: bar), and the
    loader does not find it
```

## How to fix

Install one of the libraries, depend on its package, or correct the search path of the object. `patchelf
--print-rpath` shows it; `readelf -n` and `systemd-analyze dlopen-metadata` show the notes.

## Limits

Entries of priority `recommended` and `suggested` are not reported, and neither are libraries that an object opens
without a note. The needs of a library that is found are not followed.
";

fn check(query: &Query<'_>) -> Findings {
    let missing = query.missing_dlopens().iter().filter_map(|missing| not_found(query, missing));
    let broken = query.audited_objects().filter_map(|(file, object)| {
        let why = object.dlopen_notes.as_ref()?.broken?;
        let message = format!("its note about dlopen is not read: {why}");
        let mut finding = query.about(RULE.id, file, message);
        finding.detail = Some(b"note".to_vec());
        Some(finding)
    });
    missing.chain(broken).collect()
}

fn not_found(query: &Query<'_>, missing: &MissingDlopen) -> Option<Box<Finding>> {
    let notes = query.facts(missing.file).object()?.dlopen_notes.as_ref()?;
    let library = notes.required.get(missing.entry)?;
    let first = library.names.first()?;
    let names: Vec<String> = library.names.iter().map(|name| show(name.as_bytes())).collect();
    let feature = match &*library.feature {
        "" => String::new(),
        feature => format!(" (feature: {})", show(feature.as_bytes())),
    };
    let outcome = match missing.stopped {
        Some(text) => format!("the loader stops: {text}"),
        None => "the loader does not find it".to_owned(),
    };
    let root = query.closure(missing.root).root.file;
    let process = if root == missing.file {
        String::new()
    } else {
        format!(" in the process of {}", show_path(&query.locate(root).path))
    };
    let names = names.join(" or ");
    let message = format!("must open {names} with dlopen{feature}, and {outcome}{process}");
    let mut finding = query.about(RULE.id, missing.file, message);
    finding.library = Some(first.clone().into_bytes());
    Some(finding)
}
