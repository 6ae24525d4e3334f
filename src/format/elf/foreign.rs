//! Foreign files, to which no known rules of a Linux loader apply. They are objects of other
//! operating systems, code for kernels, devices and accelerators, core files, separate debug data,
//! and code for machines without known loader rules. Reports count foreign files by kind, and the
//! audit does not check them. The kind follows from the header, the program headers, the notes in
//! the file's first bytes, PT_INTERP, and the needs and their versions. Two kinds follow from the
//! path.
//!
//! `read` classifies each object, and `facts` adds the two kinds that a path decides.

use super::header::{Header, endian};
use super::{Object, Role, machine};
use crate::text::last_part;
use memchr::memmem::Finder;
use object::elf;
use object::read::elf::NoteIterator;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::LazyLock;

/// Finds the directory of firmware in a path. The finder is made once, because the paths of all
/// files are searched several times.
static FIRMWARE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"/lib/firmware/"));

/// The kind of a foreign file. Such a file is counted but not audited, because no known rules of a
/// Linux loader apply to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Foreign {
    /// An object of FreeBSD, or of Debian GNU/kFreeBSD.
    FreeBsd,
    /// An object of NetBSD.
    NetBsd,
    /// An object of OpenBSD.
    OpenBsd,
    /// An object of DragonFly BSD.
    DragonFly,
    /// An object of Android.
    Android,
    /// An object of GNU/Hurd.
    Hurd,
    /// An object of Solaris or illumos.
    Solaris,
    /// ELFOSABI_STANDALONE: code that another program maps without a loader, such as Guile's `.go`
    /// files.
    Standalone,
    /// A kernel module.
    KernelModule,
    /// Firmware of a device.
    Firmware,
    /// Code for the BPF machine of the kernel.
    Bpf,
    /// Code for a GPU.
    Gpu,
    /// A core file.
    Core,
    /// Separate debug data of another file.
    Debug,
    /// An object of a machine for which no loader rules are known.
    Machine,
}

/// The properties of one kind of foreign files.
struct ForeignKind {
    foreign: Foreign,
    /// The key under which reports count files of this kind.
    name: &'static str,
    /// The words for such a file in messages: `a kernel module`. For an operating system, only the
    /// words before the noun: `an Android` (program).
    what: &'static str,
    /// EI_OSABI of objects of this kind.
    osabi: Option<elf::OsAbi>,
    /// The owner of the NT_GNU_ABI_TAG (type 1) note in each program of this operating system.
    note: &'static [u8],
    /// The number of this operating system: the first word of an NT_GNU_ABI_TAG note with the owner
    /// `GNU`.
    gnu: Option<u32>,
    /// Prefixes of the paths of this system's loaders. PT_INTERP begins with one of these prefixes.
    interps: &'static [&'static str],
    /// The name of this system's libc in DT_NEEDED. Empty if the reader does not check the name of
    /// the libc.
    libc: &'static [u8],
}

const NONE: ForeignKind = ForeignKind {
    foreign: Foreign::Machine,
    name: "",
    what: "",
    osabi: None,
    note: b"",
    gnu: None,
    interps: &[],
    libc: b"",
};

const KINDS: &[ForeignKind] = &[
    ForeignKind {
        foreign: Foreign::FreeBsd,
        name: "freebsd",
        what: "a FreeBSD",
        osabi: Some(elf::ELFOSABI_FREEBSD),
        note: b"FreeBSD",
        gnu: Some(elf::ELF_NOTE_OS_FREEBSD),
        interps: &["/libexec/ld-elf", "/usr/libexec/ld-elf.so.1"],
        libc: b"libc.so.7",
    },
    ForeignKind {
        foreign: Foreign::NetBsd,
        name: "netbsd",
        what: "a NetBSD",
        osabi: Some(elf::ELFOSABI_NETBSD),
        note: b"NetBSD",
        interps: &["/libexec/ld.elf_so", "/usr/libexec/ld.elf_so"],
        ..NONE
    },
    ForeignKind {
        foreign: Foreign::OpenBsd,
        name: "openbsd",
        what: "an OpenBSD",
        osabi: Some(elf::ELFOSABI_OPENBSD),
        note: b"OpenBSD",
        interps: &["/usr/libexec/ld.so"],
        ..NONE
    },
    ForeignKind {
        foreign: Foreign::DragonFly,
        name: "dragonfly",
        what: "a DragonFly BSD",
        note: b"DragonFly",
        interps: &["/usr/libexec/ld-elf.so.2"],
        ..NONE
    },
    ForeignKind {
        foreign: Foreign::Android,
        name: "android",
        what: "an Android",
        note: b"Android",
        interps: &["/system/bin/linker", "/apex/com.android.runtime/bin/linker"],
        ..NONE
    },
    ForeignKind {
        foreign: Foreign::Hurd,
        name: "hurd",
        what: "a GNU/Hurd",
        osabi: Some(elf::ELFOSABI_HURD),
        gnu: Some(elf::ELF_NOTE_OS_GNU),
        libc: b"libc.so.0.3",
        ..NONE
    },
    ForeignKind {
        foreign: Foreign::Solaris,
        name: "solaris",
        what: "a Solaris",
        osabi: Some(elf::ELFOSABI_SOLARIS),
        gnu: Some(elf::ELF_NOTE_OS_SOLARIS2),
        interps: &[
            "/lib/64/ld.so.1",
            "/lib/amd64/ld.so.1",
            "/usr/lib/64/ld.so.1",
            "/usr/lib/amd64/ld.so.1",
            "/usr/lib/ld.so.1",
            "/usr/lib/sparcv9/ld.so.1",
        ],
        ..NONE
    },
    ForeignKind {
        foreign: Foreign::Standalone,
        name: "standalone",
        what: "standalone code, which another program maps itself",
        osabi: Some(elf::ELFOSABI_STANDALONE),
        ..NONE
    },
    ForeignKind {
        foreign: Foreign::KernelModule,
        name: "kernel-module",
        what: "a kernel module, which the kernel links itself",
        ..NONE
    },
    ForeignKind {
        foreign: Foreign::Firmware,
        name: "firmware",
        what: "firmware, which runs on a device",
        ..NONE
    },
    ForeignKind {
        foreign: Foreign::Bpf,
        name: "bpf",
        what: "BPF code, which the kernel loads",
        ..NONE
    },
    ForeignKind { foreign: Foreign::Gpu, name: "gpu", what: "code for a GPU", ..NONE },
    ForeignKind { foreign: Foreign::Core, name: "core", what: "a core file", ..NONE },
    ForeignKind {
        foreign: Foreign::Debug,
        name: "debug",
        what: "the debug companion of another file",
        ..NONE
    },
    ForeignKind {
        foreign: Foreign::Machine,
        name: "machine",
        what: "code for a machine without known loader rules",
        ..NONE
    },
];

/// An object that needs `libc.so` and one of these libraries is linked against bionic.
const BESIDE_BIONIC: [&[u8]; 4] = [b"libm.so", b"libdl.so", b"liblog.so", b"libandroid.so"];

/// Upper bound for the number of PT_NOTE segments that are read; linkers write at most three.
pub(super) const MOST_NOTES: usize = 8;

/// A PT_NOTE segment: its position in the file and its alignment, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Notes {
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) align: u64,
}

impl Notes {
    /// The part of the segment that is in `head`, the first bytes of the file. `None` if the
    /// segment begins after `head`.
    pub(super) fn bytes_in<'h>(&self, head: &'h [u8]) -> Option<&'h [u8]> {
        let start = usize::try_from(self.offset).ok()?;
        let end = usize::try_from(self.offset.saturating_add(self.size)).unwrap_or(usize::MAX);
        head.get(start..end.min(head.len()))
    }
}

impl Foreign {
    fn kind(self) -> &'static ForeignKind {
        KINDS.iter().find(|kind| kind.foreign == self).unwrap_or(&NONE)
    }

    /// The key under which reports count files of this kind.
    pub fn name(self) -> &'static str {
        self.kind().name
    }

    /// The words for such a file in messages: `a kernel module`. For an operating system, only the
    /// words before the noun: `an Android` (program).
    pub fn what(self) -> &'static str {
        self.kind().what
    }

    /// True for the kinds that are objects of another operating system.
    pub fn is_system(self) -> bool {
        self < Self::Standalone
    }

    /// The system that the notes name, if any. Notes outside of `head` are ignored.
    pub(super) fn of_notes(header: &Header, head: &[u8], notes: &[Notes]) -> Option<Self> {
        notes
            .iter()
            .take(MOST_NOTES)
            .find_map(|notes| of_bytes(notes.bytes_in(head)?, notes.align, endian(header.big)))
    }

    /// The kind of an object by the facts read so far, or `None` if it is not foreign. `noted` is
    /// the system in its notes.
    pub(super) fn of(object: &Object, noted: Option<Self>) -> Option<Self> {
        let header = &object.header;
        match object.role {
            Role::Core => return Some(Self::Core),
            Role::Debug => return Some(Self::Debug),
            _ => {}
        }
        match elf::Machine(header.machine) {
            elf::EM_BPF => return Some(Self::Bpf),
            _ if machine::is_device(header.machine) => return Some(Self::Gpu),
            _ => {}
        }
        // A relocatable object is not foreign: a linker accepts objects of any system.
        if object.role == Role::Relocatable {
            return None;
        }
        // A program with a loader of Linux runs on Linux, regardless of EI_OSABI and notes.
        if object.interp().is_some_and(|interp| is_of_linux(object, interp)) {
            return None;
        }
        let by = |is_kind: &dyn Fn(&&ForeignKind) -> bool| {
            KINDS.iter().find(is_kind).map(|kind| kind.foreign)
        };
        let interp = object.interp();
        let found = interp.and_then(|interp| {
            let begins = |prefix: &&str| interp.starts_with(prefix.as_bytes());
            let solaris = is_of_solaris(object, interp).then_some(Self::Solaris);
            solaris.or_else(|| by(&|kind| kind.interps.iter().any(begins)))
        });
        let osabi = elf::OsAbi(header.ident.bytes[7]);
        found
            .or(noted)
            .or_else(|| by(&|kind| kind.osabi == Some(osabi)))
            .or_else(|| by(&|kind| !kind.libc.is_empty() && needs(object, kind.libc)))
            .or_else(|| needs_bionic(object).then_some(Self::Android))
            .or_else(|| is_of_unknown_machine(object).then_some(Self::Machine))
    }

    /// The kind of an object at `path`. `None` if the object is not foreign. The path decides if an
    /// object is a kernel module or firmware.
    pub fn at(path: &Path, object: &Object) -> Option<Self> {
        let path = path.as_os_str().as_bytes();
        match object.foreign {
            None | Some(Self::Machine) => {}
            other => return other,
        }
        if object.role == Role::Relocatable && path.ends_with(b".ko") {
            return Some(Self::KernelModule);
        }
        if object.role != Role::Program && FIRMWARE.find(path).is_some() {
            return Some(Self::Firmware);
        }
        object.foreign
    }
}

/// The foreign system that a note in `bytes` names; `None` if no note names a foreign system.
/// `bytes` is the content of one segment.
fn of_bytes(bytes: &[u8], align: u64, endian: object::Endianness) -> Option<Foreign> {
    // Both classes have the same note format.
    type File = elf::FileHeader64<object::Endianness>;
    let mut notes = NoteIterator::<File>::new(endian, align, bytes).ok()?;
    while let Ok(Some(note)) = notes.next() {
        if note.n_type(endian) != elf::NT_GNU_ABI_TAG {
            continue;
        }
        let (owner, desc) = (note.name(), note.desc());
        let word = || {
            let word = desc.first_chunk().copied()?;
            Some(match endian {
                object::Endianness::Little => u32::from_le_bytes(word),
                object::Endianness::Big => u32::from_be_bytes(word),
            })
        };
        let names = |kind: &&ForeignKind| match owner {
            b"GNU" => kind.gnu.is_some() && kind.gnu == word(),
            _ => !kind.note.is_empty() && kind.note == owner,
        };
        if let Some(kind) = KINDS.iter().find(names) {
            return Some(kind.foreign);
        }
    }
    None
}

/// True if PT_INTERP names a loader of Linux: its file name begins with `ld-musl-` or `ld-linux`,
/// or is the file name of a loader for the object's machine. For `ld.so.1`, the whole path must
/// match.
fn is_of_linux(object: &Object, interp: &[u8]) -> bool {
    let name = last_part(interp);
    if name.starts_with(b"ld-musl-") || name.starts_with(b"ld-linux") {
        return true;
    }
    let Some(row) = machine::of(object.header.target()) else { return false };
    let mut loaders = row.loaders.iter().map(|loader| loader.as_bytes());
    if name == b"ld.so.1" {
        // Loaders of Solaris have this file name too.
        return !is_of_solaris(object, interp) && loaders.any(|loader| loader == interp);
    }
    loaders.any(|loader| last_part(loader) == name)
}

/// True for a program with the 32-bit loader of Solaris. Loaders of some Linux ports have the same
/// path, so the name of the libc decides.
fn is_of_solaris(object: &Object, interp: &[u8]) -> bool {
    interp == b"/lib/ld.so.1" && needs(object, b"libc.so.1")
}

fn needs(object: &Object, name: &[u8]) -> bool {
    object.needs.iter().any(|need| object.str(need.name) == name)
}

/// True for an object linked against bionic, the libc of Android. musl's libc is also named
/// `libc.so`. But musl's libc has no versions, and musl has no shared `libm.so`.
fn needs_bionic(object: &Object) -> bool {
    const LIBC: &[u8] = b"libc.so";
    if !needs(object, LIBC) {
        return false;
    }
    let versioned = object.versions.needs.iter().any(|need| {
        object.str(need.file) == LIBC
            && need.versions.iter().any(|version| object.str(version.name) == b"LIBC")
    });
    versioned || BESIDE_BIONIC.iter().any(|name| needs(object, name))
}

/// True if no loader rules are known for the machine. False for EM_NONE: such a header was
/// overwritten with zeros.
fn is_of_unknown_machine(object: &Object) -> bool {
    let header = &object.header;
    header.machine != elf::EM_NONE.0 && machine::of(header.target()).is_none()
}
