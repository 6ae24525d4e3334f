//! Classifies files by their first bytes or by their names. The walk chooses files by these
//! classes alone. The walk passes binary files of enabled classes to a reader, lists text files
//! of enabled classes, and only counts all others.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The class of a regular file, by its first bytes and its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// ELF files: they begin with `\x7fELF`.
    Elf,
    /// Static archives: they begin with `!<arch>\n` or `!<thin>\n`. Debian packages also begin with
    /// `!<arch>\n`; they are [`Self::Other`].
    Archive,
    /// Scripts: they begin with `#!`.
    Script,
    /// A file that contains only GPU device code, such as a bundle.
    Device,
    /// LLVM bitcode outside of an ELF file, such as an object for LTO.
    Bitcode,
    /// CMake files, by the name `*.cmake`.
    CMake,
    /// Package files of pkg-config, by the name `*.pc`.
    PkgConfig,
    /// Other text files that contain paths: configuration of compilers and wrappers, driver
    /// manifests, `ld.so.conf`, systemd units, desktop entries, `*.pth` of Python and `*.la` of
    /// libtool.
    Loose,
    /// C and C++ headers, by their extension or by a directory `include` in their path.
    Header,
    /// A file named `*.so` or `*.a` that is neither ELF nor an archive. It may be a linker script.
    LinkerScript,
    /// Any other file, or a file of a class that is not enabled.
    Other,
}

impl Class {
    /// True for classes of text files. The walk only lists the paths of such files; `audit` reads
    /// them afterwards.
    pub const fn is_text(self) -> bool {
        matches!(
            self,
            Self::Script
                | Self::CMake
                | Self::PkgConfig
                | Self::Loose
                | Self::Header
                | Self::LinkerScript
        )
    }
}

/// The property by which files of a class are recognised. ELF files and archives have no mark:
/// [`sniff`] recognises them.
enum Mark {
    /// The file begins with these bytes.
    Head(&'static [u8]),
    /// The path of the file ends with this text.
    Suffix(&'static [u8]),
    /// The file lies directly in a directory of this name.
    Inside(&'static [u8]),
    /// The path of the file contains this directory, written with slashes (`/include/`).
    Below(&'static [u8]),
}

/// The marks of classes that are recognised only if enabled. The first mark that fits decides.
const MARKS: &[(Class, Mark)] = &[
    (Class::Device, Mark::Head(b"CCOB")),
    (Class::Device, Mark::Head(b"KPAK")),
    (Class::Device, Mark::Head(b"__CLANG_OFFLOAD_BUND")),
    (Class::Device, Mark::Head(&[0x10, 0xff, 0x10, 0xad])),
    (Class::Bitcode, Mark::Head(BITCODE[0])),
    (Class::Bitcode, Mark::Head(BITCODE[1])),
    (Class::Script, Mark::Head(b"#!")),
    (Class::CMake, Mark::Suffix(b".cmake")),
    (Class::PkgConfig, Mark::Suffix(b".pc")),
    (Class::Loose, Mark::Suffix(b".json")),
    (Class::Loose, Mark::Suffix(b".la")),
    (Class::Loose, Mark::Suffix(b".cfg")),
    (Class::Loose, Mark::Suffix(b".icd")),
    (Class::Loose, Mark::Suffix(b".service")),
    (Class::Loose, Mark::Suffix(b".desktop")),
    (Class::Loose, Mark::Suffix(b".pth")),
    (Class::Loose, Mark::Suffix(b".specs")),
    (Class::Loose, Mark::Suffix(b"/specs")),
    (Class::Loose, Mark::Suffix(b"/etc/ld.so.conf")),
    (Class::Loose, Mark::Inside(b"nix-support")),
    (Class::Loose, Mark::Inside(b"ld.so.conf.d")),
    (Class::Header, Mark::Below(b"/include/")),
    (Class::Header, Mark::Suffix(b".h")),
    (Class::Header, Mark::Suffix(b".hh")),
    (Class::Header, Mark::Suffix(b".hpp")),
    (Class::Header, Mark::Suffix(b".hxx")),
    (Class::Header, Mark::Suffix(b".inc")),
    (Class::Header, Mark::Suffix(b".inl")),
    (Class::LinkerScript, Mark::Suffix(b".so")),
    (Class::LinkerScript, Mark::Suffix(b".a")),
];

/// The first bytes of LLVM bitcode: of a plain file, and of a file with the wrapper header.
pub const BITCODE: [&[u8]; 2] = [b"BC\xc0\xde", b"\xde\xc0\x17\x0b"];

/// Number of bytes at the start of a file that [`Classes::class_of`] needs.
pub const SNIFF_LEN: usize = 24;

/// The enabled file classes of a walk, as a bit set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Classes(u16);

impl Classes {
    /// The classes of linkage: ELF files and archives.
    pub const LINKAGE: Self = Self::bit(Class::Elf).with(Class::Archive);

    /// The set with `class` enabled too.
    #[must_use]
    pub const fn with(self, class: Class) -> Self {
        Self(self.0 | Self::bit(class).0)
    }

    /// True if `class` is enabled. [`Class::Other`] never is.
    pub const fn contains(self, class: Class) -> bool {
        self.0 & Self::bit(class).0 != 0
    }

    const fn bit(class: Class) -> Self {
        Self(match class {
            Class::Other => 0,
            Class::Elf => 1,
            Class::Archive => 1 << 1,
            Class::Script => 1 << 2,
            Class::CMake => 1 << 3,
            Class::PkgConfig => 1 << 4,
            Class::Loose => 1 << 5,
            Class::Device => 1 << 6,
            Class::Header => 1 << 7,
            Class::LinkerScript => 1 << 8,
            Class::Bitcode => 1 << 9,
        })
    }

    /// The class of the file at `path` that begins with the bytes `head`. ELF files and archives
    /// are always recognised, because reports count them; other classes only if enabled.
    pub fn class_of(self, path: &Path, head: &[u8]) -> Class {
        let class = sniff(head);
        if class != Class::Other || self == Self::LINKAGE {
            return class;
        }
        let applies = |mark: &Mark| match mark {
            Mark::Head(magic) => head.starts_with(magic),
            Mark::Suffix(end) => path.as_os_str().as_bytes().ends_with(end),
            Mark::Inside(dir) => {
                let above = path.parent().and_then(Path::file_name);
                above.is_some_and(|above| above.as_bytes() == *dir)
            }
            Mark::Below(dir) => memchr::memmem::find(path.as_os_str().as_bytes(), dir).is_some(),
        };
        let found = MARKS.iter().find(|(class, mark)| self.contains(*class) && applies(mark));
        found.map_or(Class::Other, |(class, _)| *class)
    }
}

impl Default for Classes {
    fn default() -> Self {
        Self::LINKAGE
    }
}

/// True for a Debian package: an archive whose first member is `debian-binary`. `ar` of binutils
/// writes a slash after the name, `dpkg-deb` a space.
pub fn is_debian_package(head: &[u8]) -> bool {
    let name = head.strip_prefix(&object::archive::MAGIC);
    let rest = name.and_then(|name| name.strip_prefix(b"debian-binary"));
    rest.is_some_and(|rest| matches!(rest.first(), Some(b' ' | b'/')))
}

/// Recognises ELF files and static archives by their first bytes. [`Class::Other`] for all other
/// files.
pub fn sniff(head: &[u8]) -> Class {
    if head.starts_with(&object::elf::ELFMAG) {
        Class::Elf
    } else if is_debian_package(head) {
        Class::Other
    } else if head.starts_with(&object::archive::MAGIC)
        || head.starts_with(&object::archive::THIN_MAGIC)
    {
        Class::Archive
    } else {
        Class::Other
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, Classes, SNIFF_LEN};
    use std::path::Path;

    fn class(classes: Classes, name: &str, head: &[u8]) -> Class {
        classes.class_of(Path::new(name), head)
    }

    #[test]
    fn packages_are_not_static_archives() {
        for (head, expected) in [
            (&b"!<arch>\ndebian-binary   "[..], Class::Other),
            (b"!<arch>\ndebian-binary/  ", Class::Other),
            (b"!<arch>\ndebian-binary.o/", Class::Archive),
            (b"!<arch>\ndebian-bin.o/   ", Class::Archive),
            (b"!<arch>\n/               ", Class::Archive),
            (b"!<arch>\n", Class::Archive),
        ] {
            let shown = String::from_utf8_lossy(head);
            assert!(head.len() <= SNIFF_LEN, "{shown}");
            assert_eq!(class(Classes::LINKAGE, "x", head), expected, "{shown}");
        }
    }

    #[test]
    fn bytes_come_before_names_and_only_enabled_classes_are_looked_for() {
        let all = Classes::LINKAGE.with(Class::CMake).with(Class::Script);
        assert_eq!(class(all, "a.cmake", b"\x7fELF"), Class::Elf);
        assert_eq!(class(all, "a.cmake", b"!<thin>\n"), Class::Archive);
        assert_eq!(class(all, "a.cmake", b"#!/bin/sh"), Class::Script);
        assert_eq!(class(all, "a.cmake", b"set(x y)"), Class::CMake);
        assert_eq!(class(all, "a.cmake.in", b"set(x y)"), Class::Other);
        assert_eq!(class(Classes::LINKAGE, "a.cmake", b"#!"), Class::Other);
        assert_eq!(class(Classes::LINKAGE.with(Class::CMake), "a.cmake", b"#!"), Class::CMake);
        assert!(!all.contains(Class::Other));
    }
}
