//! Extracts the arguments of the linker from a response file that has the output of a compiler.
//! `gcc -###` prints the linker program before these arguments, and lines about GCC before and
//! after them. `link_line` parses the arguments.

/// Names of linkers, without the target before the name and the version after it.
const LINKERS: &[&[u8]] =
    &[b"collect2", b"gold", b"ld", b"ld.bfd", b"ld.gold", b"ld.lld", b"ld.mold", b"lld", b"mold"];

/// Beginnings of the lines that GCC and Clang print about themselves.
const ABOUT: &[&[u8]] = &[
    b"Configured with: ",
    b"InstalledDir: ",
    b"Reading specs from ",
    b"Supported LTO compression algorithms: ",
    b"Target: ",
    b"Thread model: ",
    b"Using built-in specs.",
    b"gcc version ",
];

/// The parts of a response file that have arguments of the linker. Returns all of `text` if no line
/// of it runs a linker. If a compiler printed the text, its other lines are compiler commands and
/// messages of the link: only the lines that run the linker count.
pub(super) fn words_of_linker(text: &[u8]) -> Vec<&[u8]> {
    let lines = || text.split_inclusive(|byte| *byte == b'\n');
    if !runs_linker(text) {
        return vec![text];
    }
    if !lines().any(is_about_compiler) {
        return lines().map(|line| options(line).unwrap_or(line)).collect();
    }
    // A backslash at the end of a line continues the linker's line.
    let mut is_open = false;
    let own = |line| {
        let own = options(line).or(is_open.then_some(line))?.trim_ascii_end();
        let continued = own.strip_suffix(b"\\");
        is_open = continued.is_some();
        Some(continued.unwrap_or(own))
    };
    lines().filter_map(own).collect()
}

/// True if a line of `text` runs a linker.
pub(super) fn runs_linker(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|line| options(line).is_some())
}

/// The words after the program in a line that runs a linker; `None` for other lines.
fn options(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    let (program, rest) = match line.strip_prefix(b"\"") {
        Some(quoted) => quoted.split_at_checked(quoted.iter().position(|byte| *byte == b'"')?)?,
        None => line.split_at_checked(line.iter().position(u8::is_ascii_whitespace)?)?,
    };
    let rest = rest.strip_prefix(b"\"").unwrap_or(rest);
    (is_linker(program) && rest.first().is_some_and(u8::is_ascii_whitespace)).then_some(rest)
}

/// True for the path of a linker, such as `/usr/bin/aarch64-linux-gnu-ld.lld-19`.
fn is_linker(program: &[u8]) -> bool {
    let (plain, _) = without_version(program);
    let plain = plain.rsplit(|byte| *byte == b'-').next().unwrap_or(plain);
    LINKERS.contains(&plain)
}

/// The file name of a program without `-VERSION`, and this version, which may be empty.
pub(super) fn without_version(program: &[u8]) -> (&[u8], &[u8]) {
    let name = program.rsplit(|byte| *byte == b'/').next().unwrap_or(program);
    let is_version = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let end = name.iter().rposition(|byte| !is_version(byte)).map_or(0, |last| last + 1);
    match name[..end].strip_suffix(b"-") {
        Some(plain) => (plain, &name[end..]),
        None => (name, b""),
    }
}

/// True for a line about the compiler or its environment, such as `COLLECT_GCC_OPTIONS='-o' 'x'`.
fn is_about_compiler(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let name = line.split(|byte| *byte == b'=').next().filter(|name| name.len() < line.len());
    let is_upper = |byte: &u8| byte.is_ascii_uppercase() || *byte == b'_';
    let is_variable = name.is_some_and(|name| !name.is_empty() && name.iter().all(is_upper));
    let is_clang = || memchr::memmem::find(line, b" clang version ").is_some();
    let is_about = ABOUT.iter().any(|begin| line.starts_with(begin));
    is_variable || is_about || line.starts_with(b"clang version ") || is_clang()
}

#[cfg(test)]
mod tests {
    use super::words_of_linker;

    #[test]
    fn text_of_compilers() {
        let words = |text: &str| {
            let parts = words_of_linker(text.as_bytes()).concat();
            String::from_utf8_lossy(&parts).trim().to_owned()
        };
        for program in [
            "/usr/lib/gcc/x86_64-linux-gnu/12/collect2",
            "\"/opt/a b/ld.lld-19\"",
            "aarch64-linux-gnu-ld.bfd",
            "ld",
            "/usr/bin/x86_64-linux-gnu-ld-2.40",
        ] {
            let text = format!("Target: x\n\nA_B='-o' 'x'\n {program} -o x a.o\nA_B='-o'\n");
            assert_eq!(words(&text), "-o x a.o", "{program}");
        }
        let failed =
            "Target: x\n /usr/lib/cc1 -quiet m.c\n ld -o x \\\n a.o\n/usr/bin/ld: a.o: undefined\n";
        assert_eq!(words(failed), "-o x  a.o");
        let clang = "Debian clang version 19.1\n \"/usr/bin/ld\" \"-o\" \"x\" \"a.o\"\n";
        assert_eq!(words(clang), "\"-o\" \"x\" \"a.o\"");
        for other in ["-o\nmold\na.o", "-o mold a.o", "A=b a.o", "a.o\n\"b\nc.o\"", "ld/a.o b.o"] {
            assert_eq!(words(other), other);
        }
    }
}
