//! `removed-library`: a library or program of the old version is gone. `crate::diff` makes the
//! findings.

use super::Rule;
use crate::catalogue::COMPATIBILITY;

pub(super) static RULE: Rule = Rule::of_diff(
    "removed-library",
    COMPATIBILITY,
    "a library or program of the old version is gone",
    DOCS,
)
.keys(&["library"]);

const DOCS: &str = "\
## What it does

Compares the two sides of `linkaudit diff`. Reports a library or program of the old side that has no counterpart in the
new side. A counterpart is a file at the same path, with the same soname, or with most of its symbols. Store hashes and
releases in paths do not count.

If the file still exists, the rule reports those of its names that are gone: the soname, a name that a file needs, a
link to a program, and a development link such as `libshapes.so`. It also reports a link that is gone and led to a
directory with programs or libraries, such as `lib64`.

A file that is for another machine or ELF class in the new side is reported too, because loaders skip it.

## Why it matters

Every program that needs the library stops with `cannot open shared object file`.

## Example

```text
error[removed-library] lib/libshapes.so.1: gone
  needed by  /usr/bin/viewer
```

## How to fix

Ship the library, or name the change in the release notes and rebuild the programs that need it.

## Limits

Users of the library are known only inside the two sides and in the prefixes of `--against`. Libraries that a
program opens with dlopen do not count as needed. A library that moved to another directory, or whose path is now a
link, counts as present. A program or library that became a script counts as gone, and so does a development link that
became a linker script. Separate debug files, objects for linkers, core files, and all paths below a directory
`.build-id` are not compared.
";
