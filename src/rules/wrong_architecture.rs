//! `wrong-architecture`: a need that leads only to files of another class or machine.

use super::words::passed_over;
use super::{Context, LIBRARY, Rule, missing_library};
use crate::finding::Findings;
use crate::resolve::loader::InterpFault;

pub(super) static RULE: Rule = Rule {
    id: "wrong-architecture",
    group: LIBRARY,
    summary: "every file of a needed name is for another class or machine",
    docs: DOCS,
    check,
};

const DOCS: &str = "\
## What it does

Reports a needed library that the loader does not find although files of its name lie where it
searches: they are of another ELF class or for another machine, and the loader passes them over.

## Why it matters

The program does not start, and the message misleads: for another class the loader says `wrong ELF
class`, for another machine only that there is no such file.

## Example

```text
error[wrong-architecture] bin/app needs libfoo.so.1, and the loader passes over every file of that name
    tried   /usr/lib/libfoo.so.1 (default): another ELF class
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

fn check(context: &Context<'_>) -> Findings {
    let missing = context.audit.blame.missing.iter().zip(context.tried);
    let mut out: Findings = missing
        .filter(|(_, tried)| passed_over(tried))
        .map(|(missing, tried)| missing_library::finding(context, RULE.id, missing, tried))
        .collect();
    out.extend(missing_library::interpreters_with(context, RULE.id, |fault| {
        (fault == InterpFault::WrongArchitecture)
            .then(|| "is for another class or machine".to_owned())
    }));
    out
}
