//! `executable-stack`: a program or library makes the stack of its process executable.

use super::{Query, Rule};
use crate::catalogue::HARDENING;
use crate::finding::Findings;
use crate::format::elf::{Object, Role};
use object::elf;

pub(super) static RULE: Rule = Rule::new(
    "executable-stack",
    HARDENING,
    "a program or library makes the stack executable",
    DOCS,
    check,
)
.keys(&[]);

const DOCS: &str = "\
## What it does

Reports programs and libraries whose PT_GNU_STACK header asks for an executable stack. Also reports those without that
header on machines where glibc then makes the stack executable: x86, x86-64, s390, SPARC, MIPS, Alpha, PA-RISC, m68k,
SuperH, MicroBlaze, 32-bit ARM and 32-bit PowerPC (`DEFAULT_STACK_PERMS` in `sysdeps/*/stackinfo.h`).

## Why it matters

One such library makes the stack of the whole process executable, so that data on it can be run as code. Since
version 2.41, glibc refuses to load such a library with dlopen: `cannot enable executable stack`.

## Example

```text
warning[executable-stack] lib/libfoo.so: PT_GNU_STACK asks for an executable stack
```

## How to fix

The usual source is an assembler file without a `.note.GNU-stack` section. Add
`.section .note.GNU-stack,\"\",%progbits` to it, or link with `-Wl,-z,noexecstack`. Nested functions of GNU C
whose address is taken need an executable stack: rewrite them. `patchelf --clear-execstack` changes a built
file.

## Limits

A library that needs an executable stack on purpose is reported too. Relocatable objects and members of
archives are not checked.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (file, object) in query.audited_objects() {
        if let Some(message) = defect(object) {
            let mut finding = query.about(RULE.id, file, message.to_owned());
            finding.witness =
                query.quoted(file).map(|file| format!("readelf -lW {file} | grep GNU_STACK"));
            out.push(finding);
        }
    }
    out
}

fn defect(object: &Object) -> Option<&'static str> {
    if !matches!(object.role, Role::Program | Role::Shared | Role::Static) {
        return None;
    }
    let header = object.segments.iter().rev().find(|s| s.kind == elf::PT_GNU_STACK.0);
    match header {
        Some(header) if header.flags & elf::PF_X.0 != 0 => {
            Some("PT_GNU_STACK asks for an executable stack")
        }
        // Without PT_GNU_STACK, the kernel chooses the stack permissions of a static program.
        None if object.role != Role::Static && executable_by_default(object) => {
            Some("has no PT_GNU_STACK, and the default is an executable stack")
        }
        _ => None,
    }
}

/// Machines whose `DEFAULT_STACK_PERMS` has PF_X (glibc `sysdeps/*/stackinfo.h`).
const EXECUTABLE_BY_DEFAULT: [elf::Machine; 16] = [
    elf::EM_386,
    elf::EM_X86_64,
    elf::EM_ARM,
    elf::EM_PPC,
    elf::EM_S390,
    // EM_S390_OLD of glibc's elf.h
    elf::Machine(0xa390),
    elf::EM_MIPS,
    elf::EM_MIPS_RS3_LE,
    elf::EM_SPARC,
    elf::EM_SPARC32PLUS,
    elf::EM_SPARCV9,
    elf::EM_ALPHA,
    elf::EM_PARISC,
    elf::EM_68K,
    elf::EM_SH,
    elf::EM_MICROBLAZE,
];

fn executable_by_default(object: &Object) -> bool {
    EXECUTABLE_BY_DEFAULT.contains(&elf::Machine(object.header.machine))
}
