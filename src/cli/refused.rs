//! Refuses each PATH whose kind of file linkaudit does not read, and packages among the paths to
//! search for candidates. The first bytes and the file name decide the kind. The error names the
//! kind and the next step. Files of these kinds in lists and directories are only counted.
//! `cli::plan` calls this module.

use crate::audit::cmake_package_name;
use crate::sniff::{BITCODE, Class, Classes, is_debian_package};
use crate::text::{shell_path, show_path};
use crate::tree::{EntryType, Tree};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Number of bytes that are read from a file: enough for the mark of a tar archive.
const HEAD: usize = 512;
/// The offset of the mark `ustar` in a tar archive, in bytes.
const USTAR: usize = 257;

/// The next step in the error: a command that unpacks the file, or another action.
#[derive(Clone, Copy)]
enum Help {
    /// A command that unpacks the file. The message adds the file's name at its end.
    Unpack(&'static str),
    /// A command that unpacks the file: the words before and after the file's name.
    Before(&'static str, &'static str),
    /// Two commands with a pipe between them. The file's name ends the first command.
    Pipe(&'static str, &'static str),
    /// Any other step.
    Do(&'static str),
    Nothing,
}

/// Kinds of files by their first bytes, with the next step; the first match applies.
const MARKS: &[(&[u8], &str, Help)] = &[
    (b"\xed\xab\xee\xdb", "an RPM package", Help::Pipe("rpm2cpio", "cpio -idm -D DIR")),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", Help::Unpack("7z x -oDIR")),
    (b"hsqs", "a squashfs image", Help::Unpack("unsquashfs -d DIR")),
    (b"070701", "a cpio archive", Help::Pipe("cat", "cpio -idm -D DIR")),
    (b"MZ", "a Windows or EFI file (PE)", Help::Nothing),
    (b"\xfe\xed\xfa\xce", "a macOS file (Mach-O)", Help::Nothing),
    (b"\xfe\xed\xfa\xcf", "a macOS file (Mach-O)", Help::Nothing),
    (b"\xce\xfa\xed\xfe", "a macOS file (Mach-O)", Help::Nothing),
    (b"\xcf\xfa\xed\xfe", "a macOS file (Mach-O)", Help::Nothing),
    (b"\xca\xfe\xba\xbe", "a Java class or a universal macOS file", Help::Nothing),
    (b"\0asm", "a WebAssembly module", Help::Nothing),
    (BITCODE[0], "LLVM bitcode", Help::Do("audit the file that is linked from it")),
    (BITCODE[1], "LLVM bitcode", Help::Do("audit the file that is linked from it")),
    (
        b"glibc-ld.so.cache",
        "an ld.so.cache",
        Help::Do("to audit a sysroot with its cache, use --root DIR"),
    ),
    (
        b"ld.so-1.7.0",
        "an ld.so.cache",
        Help::Do("to audit a sysroot with its cache, use --root DIR"),
    ),
];

/// Kinds of compressed files: the first bytes, the method, and the command that decompresses.
const COMPRESSED: &[(&[u8], &str, &str)] = &[
    (b"\x1f\x8b", "gzip", "gunzip -k"),
    (b"\xfd7zXZ\0", "xz", "unxz -k"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
    (b"BZh", "bzip2", "bunzip2 -k"),
];

/// Kinds of zip archives, by the ends of their file names.
const ZIPS: &[(&[u8], &str)] = &[
    (b".whl", "a wheel (zip archive)"),
    (b".jar", "a Java archive (zip archive)"),
    (b".apk", "an Android package (zip archive)"),
    (b".egg", "an egg (zip archive)"),
];

/// The reason why a run that reads `classes` cannot audit the file at `path`, which was typed as
/// `typed`. `None` for a file that can be audited. Also `None` for a file that the audit itself
/// reports, because it is unreadable or not a regular file.
pub(super) fn reason(
    tree: &dyn Tree,
    path: &Path,
    typed: &Path,
    classes: Classes,
) -> Option<String> {
    let head = head(tree, path)?;
    let (kind, help) = match package_file(typed) {
        Some((Some(class), ..)) if classes.contains(class) => return None,
        Some((_, kind, help)) => (kind.to_owned(), help),
        None => kind(&head, typed.as_os_str().as_bytes())?,
    };
    Some(message(typed, &kind, help))
}

/// The reason why the file at `path`, which was typed as `typed`, cannot be searched for
/// candidates: its content must be unpacked first. `None` for any other file.
pub(super) fn packed(tree: &dyn Tree, path: &Path, typed: &Path) -> Option<String> {
    let (kind, help) = kind(&head(tree, path)?, typed.as_os_str().as_bytes())?;
    let is_packed = matches!(help, Help::Unpack(_) | Help::Before(..) | Help::Pipe(..));
    is_packed.then(|| message(typed, &kind, help))
}

/// The first bytes of a regular file; `None` for other and unreadable files.
fn head(tree: &dyn Tree, path: &Path) -> Option<Vec<u8>> {
    if tree.kind(path) != Ok(EntryType::File) {
        return None;
    }
    let handle = tree.open_regular(path).ok()?;
    let mut head = vec![0; HEAD];
    let length = handle.read_at(&mut head, 0).ok()?;
    head.truncate(length);
    Some(head)
}

fn message(typed: &Path, kind: &str, help: Help) -> String {
    let (shown, word) = (show_path(typed), shell_path(typed));
    match help {
        Help::Unpack(command) => format!("{shown}: {kind}\nhelp: unpack it: {command} {word}"),
        Help::Before(command, word_behind) => {
            format!("{shown}: {kind}\nhelp: unpack it: {command} {word} {word_behind}")
        }
        Help::Pipe(command, then) => {
            format!("{shown}: {kind}\nhelp: unpack it: {command} {word} | {then}")
        }
        Help::Do(what) => format!("{shown}: {kind}\nhelp: {what}"),
        Help::Nothing => format!("{shown}: {kind}, neither an ELF file nor a static archive"),
    }
}

/// Recognises a package file of pkg-config or CMake by its name. Returns the class of the file
/// (`None` if no run can read the file), the name of its kind, and the next step. `None` for other
/// names.
fn package_file(path: &Path) -> Option<(Option<Class>, &'static str, Help)> {
    let enable = Help::Do("to read it, enable its rules: -W package-text");
    Some(match class_by_name(path)? {
        Class::PkgConfig => (Some(Class::PkgConfig), "a package file of pkg-config", enable),
        _ if cmake_package_name(path).is_some() => {
            (Some(Class::CMake), "a configuration file of CMake", enable)
        }
        _ => {
            let help = Help::Do("name the *Config.cmake file that includes it");
            (None, "a file of CMake that find_package does not read", help)
        }
    })
}

fn class_by_name(path: &Path) -> Option<Class> {
    let all = Classes::LINKAGE.with(Class::PkgConfig).with(Class::CMake);
    Some(all.class_of(path, b"")).filter(|class| *class != Class::Other)
}

/// The kind of a file that begins with `head`; `None` if linkaudit can read it.
fn kind(head: &[u8], name: &[u8]) -> Option<(String, Help)> {
    let known = |kind: &str, help: Help| Some((kind.to_owned(), help));
    if is_debian_package(head) {
        return known("a Debian package", Help::Before("dpkg-deb -x", "DIR"));
    }
    let is_read = crate::sniff::sniff(head) != Class::Other;
    if is_read || crate::format::gpu::is_container(head) {
        return None;
    }
    if head.is_empty() {
        return known("an empty file", Help::Nothing);
    }
    if head.starts_with(b"PK\x03\x04") {
        let zip = ZIPS.iter().find(|(end, _)| name.ends_with(end));
        return known(zip.map_or("a zip archive", |(_, kind)| kind), Help::Unpack("unzip -d DIR"));
    }
    if head.get(USTAR..).is_some_and(|rest| rest.starts_with(b"ustar")) {
        return known("a tar archive", Help::Unpack("tar -C DIR -xf"));
    }
    if let Some((_, method, command)) = COMPRESSED.iter().find(|(mark, ..)| head.starts_with(mark))
    {
        let mut is_tar = [".tar.", ".tgz", ".txz", ".tzst"].iter();
        let is_tar = is_tar.any(|part| memchr::memmem::find(name, part.as_bytes()).is_some());
        return Some(if is_tar {
            (format!("a tar archive ({method})"), Help::Unpack("tar -C DIR -xf"))
        } else {
            (format!("a compressed file ({method})"), Help::Unpack(command))
        });
    }
    if head.get(8..).is_some_and(|rest| rest.starts_with(b"nix-archive-1")) {
        return known("a Nix archive", Help::Pipe("cat", "nix-store --restore DIR"));
    }
    if let Some((_, kind, help)) = MARKS.iter().find(|(mark, ..)| head.starts_with(mark)) {
        return known(kind, *help);
    }
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|b| *b == b'\n').next().unwrap_or_default();
        let line = crate::text::show(line.trim_ascii());
        return Some((
            format!("a script (#!{line})"),
            Help::Do("name the program or library that it starts"),
        ));
    }
    Some(if is_text(head) { text(head) } else { ("data".to_owned(), Help::Nothing) })
}

/// True for UTF-8 without control characters other than line ends, tabs and form feeds. The last
/// character may be incomplete.
fn is_text(head: &[u8]) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() + 4 > head.len() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    valid.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t' | '\r' | '\u{c}'))
}

fn text(head: &[u8]) -> (String, Help) {
    let has = |word: &[u8]| memchr::memmem::find(head, word).is_some();
    if has(b"GROUP") || has(b"INPUT") || has(b"OUTPUT_FORMAT") {
        return ("a linker script".to_owned(), Help::Do("name the libraries that it lists"));
    }
    ("a text file".to_owned(), Help::Nothing)
}

#[cfg(test)]
mod tests {
    use super::{kind, package_file};
    use crate::sniff::Class;
    use std::path::Path;

    #[test]
    fn package_files_by_their_names() {
        let class = |name: &str| package_file(Path::new(name)).map(|(class, ..)| class);
        assert_eq!(class("foo.pc"), Some(Some(Class::PkgConfig)));
        assert_eq!(class("a/FooConfig.cmake"), Some(Some(Class::CMake)));
        assert_eq!(class("foo-config.cmake"), Some(Some(Class::CMake)));
        assert_eq!(class("FooTargets.cmake"), Some(None));
        assert_eq!(class("foo.txt"), None);
    }

    fn of(head: &[u8], name: &str) -> Option<String> {
        kind(head, name.as_bytes()).map(|(kind, _)| kind)
    }

    #[test]
    fn what_is_read_is_not_refused() {
        assert_eq!(of(b"\x7fELF", "a"), None);
        assert_eq!(of(b"!<arch>\n/   ", "a.a"), None);
        assert_eq!(of(b"!<thin>\n/   ", "a.a"), None);
        assert_eq!(of(b"!<arch>\ndebian-binary   ", "a.deb").as_deref(), Some("a Debian package"));
    }

    #[test]
    fn kinds_by_bytes_and_names() {
        let is = |head: &[u8], name: &str, expected: &str| {
            assert_eq!(of(head, name).as_deref(), Some(expected), "{name}");
        };
        is(b"", "a", "an empty file");
        is(b"PK\x03\x04", "x.whl", "a wheel (zip archive)");
        is(b"PK\x03\x04", "x.zip", "a zip archive");
        is(b"\x1f\x8b\x08", "x.tar.gz", "a tar archive (gzip)");
        is(b"\x28\xb5\x2f\xfd", "x.pkg.tar.zst", "a tar archive (zstd)");
        is(b"\xfd7zXZ\0", "libx.so.xz", "a compressed file (xz)");
        is(b"#! /bin/sh -e\necho", "run", "a script (#!/bin/sh -e)");
        is(b"MZ\x90", "x.exe", "a Windows or EFI file (PE)");
        is(b"BC\xc0\xde\x35\x14", "x.bc", "LLVM bitcode");
        is(b"\xde\xc0\x17\x0b\0\0\0\0", "wrapped.bc", "LLVM bitcode");
        is("caf\u{e9}".as_bytes(), "notes", "a text file");
        is(b"/* GNU ld script */ GROUP ( libc.so.6 )", "libc.so", "a linker script");
        is(b"\x01\x02\x03", "x.bin", "data");
    }
}
