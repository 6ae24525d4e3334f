//! `bad-library-file`: a file at which the loader stops.

use super::{Context, LIBRARY, Rule};
use crate::finding::{Finding, When};
use crate::resolve::loader::NoLoader;
use crate::text::show;

pub(super) static RULE: Rule = Rule {
    id: "bad-library-file",
    group: LIBRARY,
    summary: "the loader stops at a file it was led to",
    docs: DOCS,
    check,
};

const DOCS: &str = "\
## What it does

Reports the file at which the loader gives up while it maps the objects of a root: a linker script,
an empty or short file, an executable, a debug companion, a file for another byte order. The text is
the loader's own. Also reported are files with which the loader aborts by assertion: versions needed
of a file that nothing loaded answers to, DT_RELR without its marker.

## Why it matters

Unlike a missing file, such a file is not passed over: later directories are not tried, even if they
hold a good copy. Nothing more can be said of that root.

## Example

```text
error[bad-library-file] lib/libfoo.so: invalid ELF header
    the loader is led to it by bin/app
```

## How to fix

Take the file out of the directory the loader searches, or the directory out of the search path.
Linker scripts belong where only the linker looks.

## Limits

The loader's text is that of an untranslated glibc. What the kernel would refuse later, while it
maps segments, is not foreseen.
";

fn check(context: &Context<'_>) -> Vec<Finding> {
    let stopped = context.audit.blame.stopped.iter().map(|stop| {
        let mut finding = Finding::new(RULE.id, context.locate(stop.file), stop.text.to_owned());
        finding.detail = Some(stop.object.clone());
        finding.root = context.first_root(&stop.roots);
        finding.when = Some(When::Load);
        finding.evidence = context.roots(&stop.roots, Some(stop.site));
        finding.witness =
            finding.root.as_ref().map(|_| format!("file {}", context.quoted(stop.file)));
        if !show(&stop.object)
            .ends_with(&show(context.path(stop.file).as_os_str().as_encoded_bytes()))
        {
            finding.library = Some(stop.object.clone());
        }
        finding
    });
    stopped.chain(refused(context)).collect()
}

/// Roots that a loader would not start from.
fn refused<'a>(context: &'a Context<'_>) -> impl Iterator<Item = Finding> + 'a {
    context.audit.closures.no_loader.iter().filter_map(|(file, why)| {
        let NoLoader::Refused(text) = why else { return None };
        let mut finding = Finding::new(RULE.id, context.locate(*file), (*text).to_owned());
        finding.when = Some(When::Load);
        finding.root = Some(context.shared_path(*file));
        Some(finding)
    })
}
