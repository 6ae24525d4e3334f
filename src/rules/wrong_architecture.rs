//! `wrong-architecture`: a need that leads only to files of another class or machine.

use super::words::passed_over;
use super::{Query, Rule, missing_library};
use crate::catalogue::LIBRARY;
use crate::finding::{Findings, When};
use crate::format::elf::machine;
use crate::resolve::loader::InterpFault;
use crate::text::{show, show_path};

pub(super) static RULE: Rule = Rule::new(
    "wrong-architecture",
    LIBRARY,
    "every file of a needed name is for another class or machine",
    DOCS,
    check,
)
.keys(&["library", "detail"])
.of_all_loaded()
.explaining();

const DOCS: &str = "\
## What it does

Reports a needed library that the loader does not find although files of its name lie where it
searches: they are of another ELF class or for another machine, and the loader passes them over.
A file that `--host` names as a plugin of a program for another machine is reported too.

## Why it matters

The program does not start, and the message misleads: for another class the loader says `wrong ELF
class`, for another machine only that there is no such file.

## Example

```text
error[wrong-architecture] libfoo.so.1: wrong architecture
  needed by  bin/app
  tried      /usr/lib/libfoo.so.1 (default directory): another ELF class
```

## How to fix

Install the library for the program's own architecture, or correct the search path that leads to
the other one.

## Limits

Class, machine and ABI are compared as the loader compares them: RISC-V libraries of another float
ABI, MIPS libraries of another ABI or NaN encoding and ppc64 libraries of another ELF ABI are passed
over. At an ARM library of the other float ABI the loader stops, which is `bad-library-file`. The
floating-point ABI in the PT_MIPS_ABIFLAGS of MIPS objects is not looked at.
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
        (fault == InterpFault::WrongArchitecture).then(|| "for another class or machine".to_owned())
    }));
    out.extend(plugins(query));
    out
}

/// Plugins that `--host` gives to a program that cannot load them.
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
