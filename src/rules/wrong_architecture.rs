//! `wrong-architecture`: a needed library, a loader or a plugin for another ELF class or machine.

use super::words::passed_over;
use super::{Query, Rule, missing_library};
use crate::catalogue::LIBRARY;
use crate::finding::{Findings, When};
use crate::format::elf::machine;
use crate::resolve::loader::InterpreterDefect;
use crate::text::{show, show_path};
use crate::wants::Wants;

pub(super) static RULE: Rule = Rule::new(
    "wrong-architecture",
    LIBRARY,
    "every file with the needed name is for another ELF class or machine",
    DOCS,
    check,
)
.keys(&["library", "detail"])
.of_all_loaded()
.wants(Wants::NAMES_IN_PREFIX.and(Wants::INSTALLED))
.explaining();

const DOCS: &str = "\
## What it does

Reports a needed library if the loader finds files of that name, but only for another ELF class or machine.
The loader skips such files. The rule also reports a plugin that `--host` assigns to a program for another
machine.

## Why it matters

The program does not start. For another class, the loader says `wrong ELF class`. For another machine, its message
misleads: it says that the file does not exist.

## Example

```text
error[wrong-architecture] libfoo.so.1: wrong architecture
  needed by  bin/app
  tried      /usr/lib/libfoo.so.1 (default directory): another ELF class
```

## How to fix

Install the library for the architecture of the program. If a `candidate` lies in the prefix, such as the file in
`lib64`, add its directory to the search path of the object that needs it. The loader skips the wrong file and goes on.
`linkaudit fix` verifies the entry.

## Limits

linkaudit compares class, machine and ABI as the loader does. The loader skips RISC-V libraries of another
float ABI, MIPS libraries of another ABI or NaN encoding, and ppc64 libraries of another ELF ABI. It stops at
an ARM library of another float ABI, which is `bad-library-file`. The floating-point ABI in PT_MIPS_ABIFLAGS
is not compared.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out: Findings = query
        .missing()
        .into_iter()
        .filter(|(_, tried)| passed_over(tried))
        .map(|(missing, tried)| {
            let name = show(&missing.name);
            let message = format!("{name}: found for another class or machine only");
            missing_library::finding(query, RULE.id, missing, (tried, message))
        })
        .collect();
    out.extend(missing_library::interpreters_with(query, RULE.id, |fault| {
        (fault == InterpreterDefect::WrongArchitecture)
            .then(|| "for another class or machine".to_owned())
    }));
    out.extend(plugins(query));
    out
}

/// Findings about plugins that `--host` assigns to a program for another machine.
fn plugins(query: &Query<'_>) -> Findings {
    let foreign = &query.unhosted().foreign;
    let machine =
        |file| query.view().object(file).map(|object| machine::name(object.header.target()));
    foreign
        .iter()
        .map(|(plugin, host)| {
            let (own, other) = (machine(*plugin), machine(*host));
            let path = show_path(query.path(*host));
            let message = format!(
                "is for {}, and its host {path} is for {}",
                own.unwrap_or_default(),
                other.unwrap_or_default()
            );
            let mut finding = query.about(RULE.id, *plugin, message);
            let host_path = query.locate(*host).path.clone();
            finding.detail = Some(host_path.into_os_string().into_encoded_bytes());
            finding.root = Some(query.shared_path(*plugin));
            finding.when = Some(When::Load);
            finding.evidence.push(query.host(*host));
            let quoted = query.quoted(*plugin);
            finding.witness = quoted.map(|file| format!("readelf -h {file} | grep Machine"));
            finding
        })
        .collect()
}
