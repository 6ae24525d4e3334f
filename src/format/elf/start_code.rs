//! Tests if the functions of DT_INIT and DT_FINI do anything. `crti.o` and `crtn.o` of the C
//! library add these functions to every library and program, and the added functions do nothing.
//! Other object files may add code to the sections `.init` and `.fini`. The linker option `-init`
//! selects another function.

use super::dynamic::Dynamic;
use super::header::Header;
use super::patchable::address_of;
use super::segments::Segments;
use crate::format::{Table, read_range};
use crate::tree::Handle;
use object::elf;

/// Upper bound for the bytes of one function of a start file.
const MOST: u64 = 80;

/// The functions of `.init` and `.fini` that do nothing, by machine, in hexadecimal. `..` matches
/// any byte, such as a byte of a displacement. The only function that they may call is
/// `__gmon_start__`, which profilers define. The sources are glibc's `sysdeps/*/crti.S` and
/// `crtn.S`, and musl's `crt/x86_64`. On a machine that is not listed, every function is treated as
/// code.
const EMPTY: &[(elf::Machine, &[&str])] = &[
    (
        elf::EM_X86_64,
        &[
            "48 83 ec 08 48 8b 05 .. .. .. .. 48 85 c0 74 02 ff d0 48 83 c4 08 c3",
            "48 83 ec 08 48 8b 05 .. .. .. .. 48 85 c0 74 05 e8 .. .. .. .. 48 83 c4 08 c3",
            "48 83 ec 08 48 83 c4 08 c3",
            "f3 0f 1e fa 48 83 ec 08 48 8b 05 .. .. .. .. 48 85 c0 74 02 ff d0 48 83 c4 08 c3",
            "f3 0f 1e fa 48 83 ec 08 48 83 c4 08 c3",
            "50 58 c3",
        ],
    ),
    (
        elf::EM_386,
        &[
            "53 83 ec 08 e8 .. .. .. .. 81 c3 .. .. .. .. 8b 83 .. .. .. .. 85 c0 74 02 ff d0 \
             83 c4 08 5b c3",
            "53 83 ec 08 e8 .. .. .. .. 81 c3 .. .. .. .. 8b 83 .. .. .. .. 85 c0 74 05 e8 \
             .. .. .. .. 83 c4 08 5b c3",
            "53 83 ec 08 e8 .. .. .. .. 81 c3 .. .. .. .. 83 c4 08 5b c3",
            "f3 0f 1e fb 53 83 ec 08 e8 .. .. .. .. 81 c3 .. .. .. .. 8b 83 .. .. .. .. 85 c0 \
             74 02 ff d0 83 c4 08 5b c3",
            "f3 0f 1e fb 53 83 ec 08 e8 .. .. .. .. 81 c3 .. .. .. .. 83 c4 08 5b c3",
        ],
    ),
    (
        elf::EM_AARCH64,
        // The first instruction is nop, `bti c` or `paciasp`.
        &[
            ".. .. 03 d5 fd 7b bf a9 fd 03 00 91 .. .. .. 94 fd 7b c1 a8 c0 03 5f d6",
            ".. .. 03 d5 fd 7b bf a9 fd 03 00 91 .. .. .. 97 fd 7b c1 a8 c0 03 5f d6",
            ".. .. 03 d5 fd 7b bf a9 fd 03 00 91 fd 7b c1 a8 c0 03 5f d6",
            ".. .. 03 d5 fd 7b bf a9 fd 03 00 91 .. .. .. 94 fd 7b c1 a8 bf 23 03 d5 c0 03 5f d6",
            ".. .. 03 d5 fd 7b bf a9 fd 03 00 91 .. .. .. 97 fd 7b c1 a8 bf 23 03 d5 c0 03 5f d6",
            ".. .. 03 d5 fd 7b bf a9 fd 03 00 91 fd 7b c1 a8 bf 23 03 d5 c0 03 5f d6",
        ],
    ),
    (elf::EM_ARM, &["08 40 2d e9 .. .. .. eb 08 80 bd e8", "08 40 2d e9 08 80 bd e8"]),
    (
        elf::EM_PPC64,
        // The linker replaces the instructions that load the address of `__gmon_start__`.
        &[
            ".. .. 4c 3c .. .. 42 38 a6 02 08 7c 10 00 01 f8 a1 ff 21 f8 .. .. .. .. .. .. .. e8 \
             00 00 a0 2f 0c 00 fe 41 .. .. .. .. .. .. .. .. 60 00 21 38 10 00 01 e8 a6 03 08 7c \
             20 00 80 4e",
            ".. .. 4c 3c .. .. 42 38 a6 02 08 7c 10 00 01 f8 a1 ff 21 f8 60 00 21 38 10 00 01 e8 \
             a6 03 08 7c 20 00 80 4e",
        ],
    ),
    (
        elf::EM_S390,
        &[
            "eb 6f f0 30 00 24 b9 04 00 1f a7 fb ff 60 e3 10 f0 00 00 24 c0 c0 .. .. .. .. c0 10 \
             .. .. .. .. e3 10 10 00 00 04 b9 02 00 11 a7 84 00 03 0d e1 e3 40 f1 10 00 04 eb 6f \
             f0 d0 00 04 07 f4",
            "eb 6f f0 30 00 24 b9 04 00 1f a7 fb ff 60 e3 10 f0 00 00 24 c0 c0 .. .. .. .. 07 07 \
             e3 40 f1 10 00 04 eb 6f f0 d0 00 04 07 f4",
        ],
    ),
];

/// True if the functions of DT_INIT or DT_FINI have code that is not from start files, or if the
/// file cannot be read.
pub fn has_start_code(file: &Handle) -> bool {
    is_empty(file) != Some(true)
}

/// True if the functions of DT_INIT and DT_FINI do nothing. `None` if the file cannot be read.
fn is_empty(file: &Handle) -> Option<bool> {
    let header = Header::parse(&read_range(file, 0, 64).ok()?)?;
    let size = u64::from(header.phnum) * header.phdr_size() as u64;
    let table = read_range(file, header.phoff, size).ok()?;
    let segments = Segments::parse(&header, &table, file.stat().len);
    let (offset, size) = segments.dynamic?;
    let dynamic = Dynamic::parse(&header, &read_range(file, offset, size).ok()?);
    let functions = dynamic.start_code.into_iter().zip([&b".init"[..], b".fini"]);
    for (address, section) in functions {
        // The loader calls no function at address 0.
        let Some(address) = address.filter(|address| *address != 0) else { continue };
        // Only functions in `.init` and `.fini` are compared with `EMPTY`. Its `..` matches any
        // displacement, so the same bytes in another section may call other code.
        if address_of(file, section) != Some(address) {
            return Some(false);
        }
        let (offset, rest) = segments.file_offset(address, Table::Dynamic).ok()?;
        if !is_of_start_file(header.machine, &read_range(file, offset, rest.min(MOST)).ok()?) {
            return Some(false);
        }
    }
    Some(true)
}

/// True if `code` begins with a function that does nothing.
fn is_of_start_file(machine: u16, code: &[u8]) -> bool {
    let rows = EMPTY.iter().filter(|(of, _)| of.0 == machine);
    rows.flat_map(|(_, functions)| *functions).any(|function| begins_with(code, function))
}

fn begins_with(code: &[u8], function: &str) -> bool {
    let mut bytes = function.split_ascii_whitespace().enumerate();
    bytes.all(|(at, token)| {
        let byte = code.get(at).copied();
        byte.is_some_and(|byte| token == ".." || u8::from_str_radix(token, 16) == Ok(byte))
    })
}

#[cfg(test)]
mod tests {
    use super::is_of_start_file;
    use object::elf;

    fn is_empty(machine: elf::Machine, code: &str) -> bool {
        let byte = |token| u8::from_str_radix(token, 16).expect("a byte");
        let code: Vec<u8> = code.split_ascii_whitespace().map(byte).collect();
        is_of_start_file(machine.0, &code)
    }

    /// The code comes from linked libraries, and from `crti.o` and `crtn.o` of Debian's cross
    /// compilers.
    #[test]
    fn functions_of_start_files() {
        let x86 = "48 83 ec 08 48 8b 05 dd 2f 00 00 48 85 c0 74 02 ff d0 48 83 c4 08 c3";
        assert!(is_empty(elf::EM_X86_64, x86));
        assert!(!is_empty(elf::EM_AARCH64, x86) && !is_empty(elf::EM_MIPS, x86));
        let arm64 = "1f 20 03 d5 fd 7b bf a9 fd 03 00 91 3d 00 00 94 fd 7b c1 a8 c0 03 5f d6";
        assert!(is_empty(elf::EM_AARCH64, arm64));
        assert!(is_empty(elf::EM_ARM, "08 40 2d e9 f0 ff ff eb 08 80 bd e8"));
        let s390 = "eb 6f f0 30 00 24 b9 04 00 1f a7 fb ff 60 e3 10 f0 00 00 24 c0 c0 00 00 00 00 \
                    07 07 e3 40 f1 10 00 04 eb 6f f0 d0 00 04 07 f4";
        assert!(is_empty(elf::EM_S390, s390));
        let power = "02 00 4c 3c 00 80 42 38 a6 02 08 7c 10 00 01 f8 a1 ff 21 f8 60 00 21 38 \
                     10 00 01 e8 a6 03 08 7c 20 00 80 4e";
        assert!(is_empty(elf::EM_PPC64, power));
    }

    #[test]
    fn code_between_the_start_files() {
        assert!(is_empty(elf::EM_X86_64, "48 83 ec 08 48 83 c4 08 c3"));
        assert!(!is_empty(elf::EM_X86_64, "48 83 ec 08 ff d0 48 83 c4 08 c3"));
        assert!(!is_empty(elf::EM_X86_64, "48 83 ec 08 48 83 c4"));
    }
}
