//! Readers of device code on generated files: every format, version and compression, truncated and
//! damaged. LLVM's own tools read the same files.

mod archives;
mod bombs;
mod cuda;
mod damage;
mod databases;
mod emitters;
mod formats;
mod hostile;
mod kpack;
mod newest;
mod oracle;
mod rows;
mod spans;
mod wheels;

use crate::support::device;
use linkaudit::format::gpu::{self, Depth, DeviceCode};
use linkaudit::tree::{MemTree, Opened, Tree as _};

const LISTING: Depth = Depth { notes: false, inflate: None };
const DEEP: Depth = Depth { notes: true, inflate: Some(u64::MAX) };

/// The device code in `bytes`.
fn read(bytes: &[u8], depth: Depth) -> DeviceCode {
    let mut tree = MemTree::new();
    tree.file("/file", bytes.to_vec());
    let Ok(Opened::File(handle)) = tree.open("/file".as_ref()) else { panic!("a file") };
    gpu::read(&handle, depth).expect("memory can be read")
}

/// The targets of all entries, in their order.
fn targets(code: &DeviceCode) -> Vec<String> {
    let entries = code.containers.iter().flat_map(|container| &container.entries);
    let targets = entries.filter_map(gpu::ContainerEntry::target);
    targets.map(|target| String::from_utf8_lossy(target).into_owned()).collect()
}

/// One file of each format, version and compression, by name.
fn samples() -> Vec<(String, Vec<u8>)> {
    let targets = ["gfx90a:sramecc+:xnack-", "gfx1030", "gfx10-3-generic"];
    let plain = device::bundle(&targets, 4096);
    let mut out = vec![
        ("elf".to_owned(), device::code_object("gfx90a:xnack+")),
        ("bundle".to_owned(), plain.clone()),
        ("packed".to_owned(), device::bundle(&targets, 1)),
        ("offload-1".to_owned(), device::offload_binary(1, "gfx90a")),
        ("offload-2".to_owned(), device::offload_binary(2, "gfx1030")),
        ("nv".to_owned(), device::nv_fatbin(&[(2, 80, 96), (1, 90, 64)])),
    ];
    for version in 1..=3 {
        for method in ["zlib", "zstd"] {
            let name = format!("ccob-{version}-{method}");
            out.push((name, device::ccob(&plain, version, method)));
        }
    }
    out
}
