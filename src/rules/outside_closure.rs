//! `outside-closure`: a library or interpreter from outside of a package's closure. Under a
//! whitelist, the rule reports a file that the whitelist does not list and the prefix does not
//! contain. Without a whitelist, `found_outside` reports files in the wrong place. They are outside
//! of the store of the file that needs them. Or they are on the system, although that file's prefix
//! has a library of the same name.

use super::demand::{arch, place};
use super::words::passed_over;
use super::{Query, Rule, found_outside, missing_library};
use crate::catalogue::CLOSURE;
use crate::finding::{Findings, When};
use crate::format::elf::Object;
use crate::policy::Policy;
use crate::resolve::loader::InterpreterDefect;
use crate::resolve::trace::Tried;
use crate::text::show;
use crate::wants::Wants;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

pub(super) static RULE: Rule = Rule::new(
    "outside-closure",
    CLOSURE,
    "a needed library comes from outside the package's closure",
    DOCS,
    check,
)
.keys(&["library", "detail"])
.of_all_loaded()
.wants(Wants::NAMES_IN_PREFIX)
.explaining();

const DOCS: &str = "\
## What it does

Reports libraries and interpreters that are not part of the package:

- In a Nix or Guix store: files outside the store, or outside the closure of `--nix-closure`, that the loader
  found by the cache, the default directories or another path. This is an error under the policies `nix` and `guix`.
- In another directory: a library of the system, if the audited directory holds a file with that name or soname. The
  rule reports it only if the loader found it by the cache, the default directories or an absolute path.
- Under a whitelist: a library or interpreter that the policy does not provide and the prefix does not hold.
  Whitelists are platforms (`--policy manylinux_2_28`, `musllinux_1_2`) and `[provided]` with `only = true`.
  No file outside the prefix is opened, so the answer is the same on every machine. This is always an error.

## Why it matters

The package works on the machine where it was built. It fails, or behaves differently, where the library is
missing or has another release.

## Example

```text
error[outside-closure] lib/a.so needs libgomp.so.1: not provided by manylinux_2_28, not in the prefix
error[outside-closure] libz.so.1: found outside of /nix/store
```

## How to fix

In a store, add the package of the library to the inputs of the build; its directory then joins the RUNPATH.
In a prefix, give the file a RUNPATH with the directory of the `candidate`. The libraries of glibc work only under the
loader of the same build. Set the interpreter of the programs too, or remove these libraries from the prefix. Under a
whitelist, put the library into the prefix, with a search path that finds it. For wheels, `auditwheel repair` does that.
Or link the library statically, or remove the need. If the target system has the library, list it under `[provided]`.

## Limits

Under a whitelist, a library in the prefix that the loader does not find is `missing-library`. In a store,
directories in `[search-path] allow` count as parts of the closure. In a directory that is not a store, interpreters
from outside are not reported. Libraries that a program loads with dlopen are not checked.
";

fn check(query: &Query<'_>) -> Findings {
    if query.policy().is_closed() {
        off_whitelist(query)
    } else {
        found_outside::check(query, RULE.id)
    }
}

fn off_whitelist(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (missing, tried) in query.missing() {
        if !query.is_outside(missing) || passed_over(tried) {
            continue;
        }
        let object = query.view().object(missing.file);
        let name = show(&missing.name);
        let who = object.map(|object| refuses(query.policy(), object, &missing.name));
        let who = who.unwrap_or_default();
        let message = format!("{name}: not provided by {who}, not in the prefix");
        // With a whitelist, the library must be in the prefix, so only paths in the prefix are
        // listed.
        let is_inside =
            |tried: &&Tried| query.prefixes().contain(Path::new(OsStr::from_bytes(&tried.path)));
        let tried: Vec<Tried> = tried.iter().filter(is_inside).cloned().collect();
        out.push(missing_library::finding(query, RULE.id, missing, (&tried, message)));
    }
    out.extend(interpreters(query));
    out
}

/// The platform or the whitelist that does not provide a library to an object, as text.
fn refuses(policy: &Policy, object: &Object, library: &[u8]) -> String {
    let arch = arch(object);
    let lacks = |platform: &&crate::policy::Platform| {
        arch.is_some_and(|arch| !platform.provides(library, arch))
    };
    let platform = policy.platforms.iter().find(lacks);
    let platform = platform.map(|platform| show(platform.asked_name().as_bytes()));
    let only = || policy.provided_only.as_ref().map(|(_, origin)| place(origin));
    platform.or_else(only).unwrap_or_default()
}

/// Findings about interpreters that do not exist. An interpreter that the policy provides is
/// skipped: the target system has it, even if this machine does not.
fn interpreters(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (file, fault) in query.bad_interpreters() {
        let Some(object) = query.view().object(*file) else { continue };
        let interp = object.interp().unwrap_or_default();
        let name = crate::text::last_part(interp);
        if *fault != InterpreterDefect::Absent || query.policy().provides(name, arch(object)) {
            continue;
        }
        let policy = refuses(query.policy(), object, name);
        let interp_name = show(interp);
        let message = format!(
            "has the interpreter {interp_name}: not provided by {policy}, not in the prefix"
        );
        let mut finding = query.about(RULE.id, *file, message);
        finding.library = Some(interp.to_vec());
        finding.cause = Some(crate::finding::CauseHint::LibraryNotFound(interp.to_vec()));
        finding.root = Some(query.shared_path(*file));
        finding.when = Some(When::Load);
        finding.detail = Some(b"PT_INTERP".to_vec());
        out.push(finding);
    }
    out
}
