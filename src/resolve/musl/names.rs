//! Names that are built into musl: the libraries that its libc contains, and the architectures that
//! it supports.

/// The libraries that musl's libc contains: their names after `lib`, up to and including the first
/// dot.
const BUILTIN: [&str; 7] = ["c.", "pthread.", "rt.", "m.", "dl.", "util.", "xnet."];
/// Index of the built-in library that musl uses for `name`; `None` if musl's libc contains no
/// library of this name.
pub fn builtin(name: &[u8]) -> Option<usize> {
    let rest = name.strip_prefix(b"lib")?;
    BUILTIN.iter().position(|start| rest.starts_with(start.as_bytes()))
}

/// musl's names for a machine, as in the name of its loader; empty for a machine without musl.
pub(in crate::resolve) fn arches(machine: &str) -> &'static [&'static str] {
    match machine {
        "x86_64" => &["x86_64"],
        "x32" => &["x32"],
        "i386" => &["i386"],
        "aarch64" => &["aarch64"],
        "aarch64_be" => &["aarch64_be"],
        "armhf" | "armel" => &["armhf", "arm"],
        "riscv64" => &["riscv64", "riscv64-sf", "riscv64-sp"],
        "riscv32" => &["riscv32"],
        "ppc" => &["powerpc", "powerpc-sf"],
        "ppc64" => &["powerpc64"],
        "ppc64le" => &["powerpc64le"],
        "s390x" => &["s390x"],
        "loongarch64" => &["loongarch64"],
        "mips" => &["mips", "mips-sf"],
        "mipsel" => &["mipsel", "mipsel-sf"],
        "mips64" => &["mips64"],
        "mips64el" => &["mips64el"],
        "mipsn32" => &["mipsn32"],
        "mipsn32el" => &["mipsn32el"],
        "armeb" | "armebhf" => &["armebhf", "armeb"],
        _ => &[],
    }
}
