//! The positions of members: names, offsets and sizes, without symbols. `format::gpu` reads device
//! code at these positions.

use super::header::{self, FIRST, LongNames, MemberHeader, SpecialMember};
use crate::format::{ReadError, read_range};
use crate::tree::Handle;
use object::archive;

/// The position of a member in its archive.
#[derive(Debug)]
pub struct MemberPosition {
    /// The name of the member, without the terminators that the archive stores.
    pub name: Box<[u8]>,
    /// Offset of its data in the archive, after the header and any BSD name.
    pub offset: u64,
    /// Size of its data in bytes, without a BSD name.
    pub size: u64,
}

/// The members that an archive contains. Empty for a thin archive, whose members are other files.
#[derive(Debug, Default)]
pub struct MemberPositions {
    /// The members in the order of the archive, without index and table of long names.
    pub list: Vec<MemberPosition>,
    /// The reason why the list is incomplete; `None` if it is complete.
    pub damage: Option<&'static str>,
}

/// Finds the members of the archive in `file`.
pub fn places(file: &Handle) -> Result<MemberPositions, ReadError> {
    let mut out = MemberPositions::default();
    if read_range(file, 0, FIRST)? == archive::THIN_MAGIC {
        out.damage = Some("a thin archive, whose members are other files");
        return Ok(out);
    }
    let (len, mut at) = (file.stat().len, FIRST);
    let mut long_names = LongNames::default();
    while at < len {
        let Some(entry) = MemberHeader::read(file, at)? else {
            out.damage = Some("a member header is damaged");
            break;
        };
        let name = header::name(file, &entry, &long_names)?;
        let before = entry.bsd_name().unwrap_or(0);
        let (offset, size) = (entry.data.checked_add(before), entry.size.checked_sub(before));
        let (Some(offset), Some(size)) = (offset, size) else {
            out.damage = Some("a member has a name that is longer than the member");
            break;
        };
        let Some(next) = entry.next().filter(|_| offset.saturating_add(size) <= len) else {
            out.damage = Some("a member ends beyond the end of the archive");
            break;
        };
        match entry.special(&name) {
            Some(SpecialMember::LongNames) => long_names = LongNames::read(file, &entry)?,
            Some(_) => {}
            None => out.list.push(MemberPosition { name, offset, size }),
        }
        at = next;
    }
    Ok(out)
}
