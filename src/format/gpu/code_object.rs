//! AMDGPU code objects: ELF files for a GPU. The ELF header states the target. Notes repeat the
//! target and list the kernels (LLVM's AMDGPUUsage, "ELF Code Object" and "Code Object Metadata").
//! NVIDIA's cubins are not read.

use super::bytes::{Bytes, u16_at, u32_at, u64_at};
use super::msgpack::{MsgpackReader, MsgpackValue};
use super::target::{TargetId, processor};
use crate::format::ReadError;
use object::elf;

/// Upper bound, in bytes, for one segment of notes; the largest real ones have a few MiB.
const MOST_NOTES: u64 = 64 << 20;
/// Upper bound for the number of program headers; compilers write about ten.
const MOST_SEGMENTS: u16 = 256;
/// `NT_AMDGPU_METADATA`
const NT_AMDGPU_METADATA: u32 = 32;
/// Size of a 64-bit ELF header, in bytes.
pub(super) const HEADER: usize = 64;

/// The properties of an AMDGPU code object: its target, its version and its metadata.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeObject {
    /// The target in `e_flags`. `None` in version 2, and for a processor number that the table of
    /// processors lacks.
    pub target: Option<TargetId>,
    /// The number of the processor in `e_flags`.
    pub mach: u8,
    /// The version of the code object. 2 to 6 are known.
    pub version: u8,
    /// The version of a generic target; 0 if the target is not generic.
    pub generic_version: u8,
    /// The metadata in the notes. `None` if notes are not read, or if they have no metadata.
    pub metadata: Option<Metadata>,
    /// The defect of the notes or of the program headers, as the end of a sentence. `None` if there
    /// is no defect, or if notes are not read.
    pub defect: Option<&'static str>,
}

/// The metadata in the notes of a code object.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Metadata {
    /// `amdhsa.target`, such as `amdgcn-amd-amdhsa--gfx90a:xnack+`; empty before version 4.
    pub target: Vec<u8>,
    /// The major and the minor number in `amdhsa.version`; 0 if the metadata has no version.
    pub version: (u64, u64),
    /// Names of the kernels, in the order of the metadata.
    pub kernels: Vec<Vec<u8>>,
    /// Number of kernels, symbols and arguments with a name that is not a string. An assembler may
    /// store a name such as `Y` or `N` as a boolean.
    pub bad_names: usize,
}

impl Metadata {
    /// The target id in `target`. `None` if `target` is empty or has another form.
    pub fn target_id(&self) -> Option<TargetId> {
        let id = self.target.splitn(5, |byte| *byte == b'-').nth(4)?;
        TargetId::parse(id)
    }
}

/// The code object in `bytes`, with its notes if `notes` is set. `None` if `bytes` is not a code
/// object.
pub(super) fn read(bytes: Bytes<'_>, notes: bool) -> Result<Option<CodeObject>, ReadError> {
    let header = bytes.read(0, HEADER)?;
    let Some(mut code) = from_header(&header) else { return Ok(None) };
    if notes {
        match metadata(bytes, &header)? {
            Ok(metadata) => code.metadata = metadata,
            Err(what) => code.defect = Some(what),
        }
    }
    Ok(Some(code))
}

/// The properties that an ELF header states. `None` if `header` is not the header of a code object.
pub(super) fn from_header(header: &[u8]) -> Option<CodeObject> {
    let is_elf = header.starts_with(&elf::ELFMAG) && header.get(4..6) == Some(&[2, 1]);
    if !is_elf || u16_at(header, 18)? != elf::EM_AMDGPU.0 {
        return None;
    }
    let (abi, flags) = (*header.get(8)?, u32_at(header, 48)?);
    let mach = u8::try_from(flags & 0xff).ok()?;
    let mut code = CodeObject {
        target: None,
        mach,
        version: abi.saturating_add(2),
        generic_version: 0,
        metadata: None,
        defect: None,
    };
    // In version 2, the processor is in a note, not in `e_flags`.
    if abi == 0 {
        return Some(code);
    }
    let (sramecc, xnack) = match abi {
        1 => (Some(flags & 0x200 != 0), Some(flags & 0x100 != 0)),
        _ => (setting(flags >> 10), setting(flags >> 8)),
    };
    if abi >= 4 {
        code.generic_version = u8::try_from(flags >> 24).ok()?;
    }
    let processor = processor(mach).map(str::to_owned);
    code.target = processor.map(|processor| TargetId { processor, sramecc, xnack });
    Some(code)
}

/// A setting for XNACK or SRAM ECC, from the lowest two of `bits`, as since version 4: 0
/// unsupported, 1 any, 2 off, 3 on. `None` for 0 and 1.
fn setting(bits: u32) -> Option<bool> {
    match bits & 3 {
        2 => Some(false),
        3 => Some(true),
        _ => None,
    }
}

/// The metadata in the PT_NOTE segments, if there is any. The inner error is a defect of the ELF
/// header, the program headers or the notes, as the end of a sentence: `ends inside its notes`.
fn metadata(
    bytes: Bytes<'_>,
    header: &[u8],
) -> Result<Result<Option<Metadata>, &'static str>, ReadError> {
    let (Some(phoff), Some(size), Some(count)) =
        (u64_at(header, 32), u16_at(header, 54), u16_at(header, 56))
    else {
        return Ok(Err("has an ELF header that is cut short"));
    };
    if count == 0 {
        return Ok(Ok(None));
    }
    if size != 56 || count > MOST_SEGMENTS {
        return Ok(Err("has program headers of an unknown form"));
    }
    let table = bytes.read(phoff, usize::from(size) * usize::from(count))?;
    if table.len() != usize::from(size) * usize::from(count) {
        return Ok(Err("ends inside its program headers"));
    }
    for segment in table.chunks_exact(usize::from(size)) {
        if u32_at(segment, 0) != Some(elf::PT_NOTE.0) {
            continue;
        }
        let (Some(offset), Some(len)) = (u64_at(segment, 8), u64_at(segment, 32)) else { continue };
        if offset.checked_add(len).is_none_or(|end| end > bytes.len()) {
            return Ok(Err("ends inside its notes"));
        }
        let Some(len) = usize::try_from(len).ok().filter(|_| len <= MOST_NOTES) else {
            return Ok(Err("has notes that are too large to read"));
        };
        if let Some(found) = from_notes(&bytes.read(offset, len)?) {
            return Ok(found.map(Some));
        }
    }
    Ok(Ok(None))
}

/// The metadata among the notes of one segment, or its defect. `None` without metadata, and if an
/// earlier note is damaged.
fn from_notes(notes: &[u8]) -> Option<Result<Metadata, &'static str>> {
    let mut at = 0_usize;
    while at + 12 <= notes.len() {
        let name_len = u32_at(notes, at)? as usize;
        let desc_len = u32_at(notes, at + 4)? as usize;
        let kind = u32_at(notes, at + 8)?;
        let name_at = at + 12;
        let desc_at = name_at.checked_add(name_len.checked_next_multiple_of(4)?)?;
        let end = desc_at.checked_add(desc_len)?;
        let name = notes.get(name_at..name_at.checked_add(name_len)?)?;
        if kind == NT_AMDGPU_METADATA && name.starts_with(b"AMDGPU") {
            let Some(desc) = notes.get(desc_at..end) else {
                return Some(Err("has metadata that is cut short"));
            };
            return Some(parse(desc).ok_or("has metadata that is not valid MessagePack"));
        }
        at = end.checked_next_multiple_of(4)?;
    }
    None
}

fn parse(desc: &[u8]) -> Option<Metadata> {
    let mut out = Metadata::default();
    MsgpackReader::new(desc).map(|reader, key| {
        match key {
            b"amdhsa.target" => {
                if let MsgpackValue::Str(target) = reader.next()? {
                    out.target = target.to_vec();
                }
            }
            b"amdhsa.version" => out.version = version(reader)?,
            b"amdhsa.kernels" => {
                let MsgpackValue::List(count) = reader.next()? else { return None };
                for _ in 0..count {
                    kernel(reader, &mut out)?;
                }
            }
            _ => reader.skip_next()?,
        }
        Some(())
    })?;
    Some(out)
}

fn version(reader: &mut MsgpackReader<'_>) -> Option<(u64, u64)> {
    let MsgpackValue::List(2) = reader.next()? else { return None };
    match (reader.next()?, reader.next()?) {
        (MsgpackValue::Int(major), MsgpackValue::Int(minor)) => Some((major, minor)),
        _ => None,
    }
}

fn kernel(reader: &mut MsgpackReader<'_>, out: &mut Metadata) -> Option<()> {
    reader.map(|reader, key| match key {
        b".name" => {
            match reader.next()? {
                MsgpackValue::Str(name) => out.kernels.push(name.to_vec()),
                other => {
                    reader.skip(other)?;
                    out.bad_names += 1;
                }
            }
            Some(())
        }
        b".symbol" => {
            let value = reader.next()?;
            out.bad_names += usize::from(!matches!(value, MsgpackValue::Str(_)));
            reader.skip(value)
        }
        b".args" => {
            let MsgpackValue::List(count) = reader.next()? else { return None };
            for _ in 0..count {
                reader.map(|reader, key| {
                    let value = reader.next()?;
                    out.bad_names +=
                        usize::from(key == b".name" && !matches!(value, MsgpackValue::Str(_)));
                    reader.skip(value)
                })?;
            }
            Some(())
        }
        _ => reader.skip_next(),
    })
}
