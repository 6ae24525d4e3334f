//! Compares how this crate and the `ar` crate read a static archive: the names of members, and the
//! symbols in the index.

use super::{ReadingDifference, SecondReading, guard};
use crate::format::archive::{self, RequestedNames, definitions};
use crate::format::elf::hash;
use crate::order;
use crate::tree::Handle;
use std::collections::BTreeSet;
use std::io::{BufReader, Read, Seek, SeekFrom};

/// Reads the archive with the `ar` crate, and compares the result with the first reader's.
pub fn compare(file: &Handle) -> SecondReading {
    // The `ar` crate allocates as many bytes as a header states, so it gets only archives whose
    // stated sizes fit into the file.
    let Ok(Some(members)) = archive::names(file) else {
        return SecondReading::GaveUp("the second reader does not take it");
    };
    guard(|| {
        read(file, &members).unwrap_or(SecondReading::GaveUp("the second reader does not take it"))
    })
}

fn read(file: &Handle, members: &[Box<[u8]>]) -> Option<SecondReading> {
    let open = || ar::Archive::new(BufReader::new(Cursor { file, at: 0 }));
    let mut theirs = Vec::new();
    let mut archive = open();
    while let Some(entry) = archive.next_entry() {
        theirs.push(entry.ok()?.header().identifier().to_vec());
    }
    let mut out = Vec::new();
    for at in 0..members.len().max(theirs.len()) {
        let (ours, theirs) = (members.get(at).map(|name| &**name), theirs.get(at));
        let theirs = theirs.map(Vec::as_slice);
        if ours != theirs {
            out.push(ReadingDifference::new(format!("member {at}"), ours, theirs));
        }
    }
    let index: BTreeSet<Vec<u8>> = order::set(open().symbols().ok()?.map(<[u8]>::to_vec));
    let mut names = RequestedNames::default();
    for name in &index {
        names.insert(name, hash::gnu(name));
    }
    let found = definitions(file, &names, &mut Vec::new()).ok()?;
    let found: BTreeSet<Vec<u8>> = order::set(found.into_iter().map(|d| d.symbol.into_vec()));
    let lacking = index.difference(&found);
    out.extend(lacking.map(|name| ReadingDifference::new("index", None, Some(name))));
    Some(SecondReading::Read(out))
}

/// A file with a position, for the `ar` crate to read.
struct Cursor<'h> {
    file: &'h Handle,
    at: u64,
}

impl Read for Cursor<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.file.read_at(buffer, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

impl Seek for Cursor<'_> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let (from, by) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::End(by) => (self.file.stat().len, by),
            SeekFrom::Current(by) => (self.at, by),
        };
        let at = from.checked_add_signed(by);
        self.at = at.ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
