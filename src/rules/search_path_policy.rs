//! `search-path-policy`: a search path that a policy does not allow.

use super::demand::{by_policy, place};
use super::{Query, Rule};
use crate::catalogue::POLICY;
use crate::finding::{Finding, Findings};
use crate::format::elf::Object;
use crate::id::FileId;
use crate::order::Arrange as _;
use crate::policy::{Origin, SearchPath, SearchTag};
use crate::text::show;

pub(super) static RULE: Rule = Rule::new(
    "search-path-policy",
    POLICY,
    "a file has a search path that a policy does not allow",
    DOCS,
    check,
)
.keys(&["detail"])
.asked_if(|plan| plan.policy.search_path.is_set());

const DOCS: &str = "\
## What it does

Compares DT_RPATH and DT_RUNPATH of every audited object with `[search-path]`. `require` names the tag that an
object with a search path must have, or `\"none\"`. `allow` lists allowed beginnings of entries: `/nix/store`
allows `/nix/store/x/lib` but not `/nix/stored`. `$ORIGIN` and `${ORIGIN}` are equal. `.` and `..` are removed
where that cannot change the meaning.

## Why it matters

A path into a build directory or a home directory lets other users insert a library. The right tag depends on
the system: only an RPATH serves indirect dependencies, and only a RUNPATH yields to LD_LIBRARY_PATH.

## Example

```text
error[search-path-policy] bin/app: DT_RUNPATH has /home/me/lib, which linkaudit.toml:8 does not allow
```

## How to fix

Pass another `-rpath`, `--enable-new-dtags` or `--disable-new-dtags` to the linker. Or change the file with
`patchelf --set-rpath` and `--force-rpath`: `linkaudit fix` verifies that the same files are loaded then.

## Limits

The rule checks the tag that glibc uses: it ignores a DT_RPATH beside a DT_RUNPATH. Entries are compared as
text; the directories need not exist. An empty entry means the current directory and is never allowed.
";

fn check(query: &Query<'_>) -> Findings {
    let policy = &query.policy().search_path;
    let objects = query.audited_objects();
    objects.flat_map(|(file, object)| of_object(query, policy, file, object)).collect()
}

fn of_object(query: &Query<'_>, policy: &SearchPath, file: FileId, object: &Object) -> Findings {
    let mut out = Findings::new();
    let (rpath, runpath) = (object.rpath, object.runpath);
    let (tag, text) = match (rpath, runpath) {
        (_, Some(runpath)) => ("DT_RUNPATH", object.str(runpath)),
        (Some(rpath), None) => ("DT_RPATH", object.str(rpath)),
        (None, None) => return out,
    };
    if let Some((required, origin)) = &policy.require {
        let place = place(origin);
        let message = match (required, tag) {
            (SearchTag::None, _) => format!("has a {tag}, and {place} allows none"),
            (SearchTag::Rpath, "DT_RUNPATH") => format!("has a {tag}; {place} requires DT_RPATH"),
            (SearchTag::Runpath, "DT_RPATH") => format!("has a {tag}; {place} requires DT_RUNPATH"),
            (SearchTag::Rpath | SearchTag::Runpath, _) => String::new(),
        };
        if !message.is_empty() {
            out.push(finding(query, file, message, "require", origin));
        }
    }
    if let Some((allowed, origin)) = &policy.allow {
        let mut entries: Vec<&[u8]> = text.split(|b| *b == b':').collect();
        entries.arrange();
        entries.dedup();
        // An empty search path has no entries.
        for entry in entries.into_iter().filter(|_| !text.is_empty()) {
            if !allowed.iter().any(|begin| begins(entry, begin.as_bytes())) {
                let words = if entry.is_empty() { "an empty entry".into() } else { show(entry) };
                let message = format!("{tag} has {words}, which {} does not allow", place(origin));
                let mut finding = finding(query, file, message, "allow", origin);
                finding.detail = Some(entry.to_vec());
                out.push(finding);
            }
        }
    }
    out
}

fn finding(
    query: &Query<'_>,
    file: FileId,
    message: String,
    key: &str,
    by: &Origin,
) -> Box<Finding> {
    let mut finding = query.about(RULE.id, file, message);
    by_policy(&mut finding, format!("search-path.{key}"), by);
    finding.witness =
        query.quoted(file).map(|file| format!("readelf -d {file} | grep -E 'RPATH|RUNPATH'"));
    finding
}

/// True if `entry` begins with all components of `begin`.
fn begins(entry: &[u8], begin: &[u8]) -> bool {
    entry.starts_with(b"/") == begin.starts_with(b"/") && parts(entry).starts_with(&parts(begin))
}

/// The components of a path, without empty ones and `.`, and with `$ORIGIN` for `${ORIGIN}`. `..`
/// removes the component before it. If that component is `..` too, or has a token such as `$LIB`,
/// both stay.
fn parts(path: &[u8]) -> Vec<&[u8]> {
    let mut out: Vec<&[u8]> = Vec::new();
    for part in path.split(|b| *b == b'/').filter(|part| !matches!(*part, b"" | b".")) {
        match (part, out.last()) {
            (b"..", Some(last)) if *last != b".." && !last.contains(&b'$') => {
                out.pop();
            }
            // `..` of `/` is `/`.
            (b"..", None) if path.starts_with(b"/") => {}
            (b"${ORIGIN}", _) => out.push(b"$ORIGIN"),
            _ => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::begins;

    #[test]
    fn entries_begin_part_by_part() {
        let yes = [
            ("$ORIGIN", "$ORIGIN"),
            ("${ORIGIN}/../lib", "$ORIGIN"),
            ("$ORIGIN//./lib/", "${ORIGIN}/lib"),
            ("$ORIGIN/a/../lib", "$ORIGIN/lib"),
            ("/nix/store/x/lib", "/nix/store/"),
            ("/nix/store", "/nix/store"),
            ("/../nix/store/x", "/nix/store"),
            ("lib", "lib"),
            ("/anything", "/"),
        ];
        let no = [
            ("$ORIGINAL/lib", "$ORIGIN"),
            ("$ORIGIN.d", "$ORIGIN"),
            ("/nix/stored", "/nix/store"),
            ("/nix/store/../../home", "/nix/store"),
            ("nix/store", "/nix/store"),
            ("/$ORIGIN", "$ORIGIN"),
            ("", "$ORIGIN"),
            ("", "/"),
            ("$ORIGIN/..", "$ORIGIN/lib"),
            ("/x$ORIGIN", "$ORIGIN"),
        ];
        for (entry, begin) in yes {
            assert!(begins(entry.as_bytes(), begin.as_bytes()), "{entry} begins with {begin}");
        }
        for (entry, begin) in no {
            assert!(!begins(entry.as_bytes(), begin.as_bytes()), "{entry} not with {begin}");
        }
    }
}
