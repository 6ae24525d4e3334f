//! Device code in members of static archives, such as archives of objects that `clang -fgpu-rdc`
//! compiles, and the static libraries of ROCm. One [`DeviceCode`] describes all members. Each
//! container and each defect states its member.

use super::bytes::Bytes;
use super::{Container, Depth, DeviceCode, DeviceDefect, MOST_CONTAINERS, TOO_MANY};
use crate::format::{ReadError, archive};
use crate::tree::Handle;
use std::sync::Arc;

/// Lists the device code of all members of the archive in `handle`.
pub fn read(handle: &Handle, depth: Depth) -> Result<DeviceCode, ReadError> {
    let whole = Bytes::whole(handle);
    let places = archive::places(handle)?;
    let mut out = DeviceCode { unread: places.damage, ..DeviceCode::default() };
    for place in places.list {
        let left = depth.inflate.map(|most| most.saturating_sub(out.inflated));
        let bytes = whole.part(place.offset, place.size);
        let own = super::of_bytes(bytes, Depth { inflate: left, ..depth })?;
        let member: Arc<[u8]> = place.name.into();
        let fault = |fault: DeviceDefect| {
            let (offset, member) =
                (place.offset.saturating_add(fault.offset), Some(Arc::clone(&member)));
            DeviceDefect { offset, member, ..fault }
        };
        let container = |container: Container| {
            let (offset, member) =
                (place.offset.saturating_add(container.offset), Some(Arc::clone(&member)));
            Container { member, offset, ..container }
        };
        out.containers.extend(own.containers.into_iter().map(container));
        out.faults.extend(own.faults.into_iter().map(fault));
        out.unchecked.extend(own.unchecked.into_iter().map(fault));
        out.wrappers += own.wrappers;
        out.kpack += own.kpack;
        out.kpack_paths.extend(own.kpack_paths);
        out.unread = out.unread.or(own.unread);
        out.inflated += own.inflated;
        if out.containers.len() > MOST_CONTAINERS {
            out.leave_unread(TOO_MANY);
            break;
        }
    }
    Ok(out)
}
