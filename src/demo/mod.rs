//! The defect that linkaudit was written for, in miniature: a merged archive whose list omits four
//! archives, and the library that was linked from it. All files are made here, byte by byte, from
//! the table in `parts`, without a compiler or linker. `tests/archives/demo.rs` compares them with
//! the output of real tools.
//!
//! This module makes files as bytes; `cli::demo` writes them and runs the commands on them.

mod archive;
mod bytes;
mod library;
mod object;
mod parts;

use crate::format::deps_list::DepsList;
use crate::order;
use parts::{ARCHIVES, DemoArchive, DemoObject, LIBRARY};
use std::collections::{BTreeMap, BTreeSet};

/// The file name of the merged archive.
pub const MERGED: &str = "librockCompiler.a";
/// The file name of the library that is linked from the merged archive.
pub const LINKED: &str = "libMIOpen.so";

/// One file: its path below the directory of the demonstration, and its content.
pub type DemoFile = (String, Vec<u8>);

/// Returns the input files of the demonstration: the archives, and the list of archives to merge.
/// The list omits four archives that the library needs.
pub fn sources() -> Vec<DemoFile> {
    let mut out: Vec<DemoFile> = ARCHIVES
        .iter()
        .map(|archive| (format!("{}/lib{}.a", archive.dir, archive.name), archive.bytes()))
        .collect();
    out.push((parts::LIST.to_owned(), parts::list().into_bytes()));
    out
}

/// The output of a build in `dir`: the archive that is merged from the archives in `list`, and the
/// library that is linked from it. A name without a definition stays undefined, as in a link with
/// `-shared` and without `-z defs`.
pub fn build(list: &DepsList, dir: &str) -> Vec<DemoFile> {
    let names: BTreeSet<&[u8]> = order::set(list.names());
    let listed = ARCHIVES.iter().filter(|archive| names.contains(archive.name.as_bytes()));
    let merged: Vec<&DemoObject> =
        listed.flat_map(|archive: &DemoArchive| archive.objects).collect();
    let members: Vec<(&str, Vec<u8>, &[&str])> =
        merged.iter().map(|object| (object.name, object.bytes(), object.defines)).collect();
    vec![
        (format!("{dir}/{MERGED}"), archive::write(&members)),
        (format!("{dir}/{LINKED}"), link(&merged)),
    ]
}

/// Links the library from its own object and from the members that this object needs, directly or
/// indirectly.
fn link(members: &[&DemoObject]) -> Vec<u8> {
    let definer: BTreeMap<&str, &DemoObject> = order::map(
        members.iter().rev().flat_map(|object| object.defines.iter().map(|name| (*name, *object))),
    );
    let (mut defined, mut undefined): (BTreeSet<&str>, BTreeSet<&str>) = Default::default();
    let mut todo: Vec<&DemoObject> = vec![&LIBRARY];
    while let Some(object) = todo.pop() {
        if !object.defines.iter().any(|name| defined.insert(name)) {
            continue;
        }
        for name in object.refers {
            match definer.get(name) {
                Some(next) => todo.push(next),
                None => {
                    undefined.insert(name);
                }
            }
        }
    }
    library::write(LINKED, &defined, &undefined)
}
