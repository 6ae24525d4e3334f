//! Completes definitions whose names were not stored at first. If a definition is read before any
//! reference to its name, only the hash of the name is stored. If a reference then has the same
//! hash, the name is read from the file and compared.
//!
//! `facts::members` calls this module after it has read all archives.

use super::elf_member::stem;
use super::members::{Members, NAMELESS};
use crate::format::{ReadError, in_memory};
use crate::symbol_names::SymbolNames;
use crate::tree::Handle;

/// One read gets a name, and the wanted names that begin less than this many bytes after the start
/// of this name.
const WINDOW: u64 = 8 << 10;
/// Upper bound for the number of names that one read gets. A hostile file may list one name a
/// million times.
const MOST: usize = 1024;
/// Number of bytes that are read for a name at first; most names are shorter.
const NAME: u64 = 512;

/// A definition whose name was not stored: its index among the symbols, and the offset of its name
/// in the archive.
pub struct Nameless {
    at: u64,
    symbol: usize,
}

impl Members {
    /// The definitions whose names are not stored, and whose hashes may belong to one of `names`.
    /// They are sorted by member, then by the offset of the name in the archive.
    pub fn nameless(&self, names: &SymbolNames) -> Vec<Nameless> {
        let mut out = Vec::new();
        for member in &self.list {
            let Some(strings) = member.strings else { continue };
            let first = member.symbols.start as usize;
            let symbols = (first..).zip(self.symbols(member));
            let defined = symbols.filter(|(_, symbol)| symbol.kind.is_definition());
            let starts = self.starts.get(member.hashes.start as usize..).unwrap_or_default();
            let all = defined.zip(self.hashes(member)).zip(starts);
            let begin = out.len();
            out.extend(all.filter_map(|(((symbol, known), hash), start)| {
                let at = strings.get().checked_add(u64::from(*start))?;
                let open = known.name == NAMELESS && names.may_hold(*hash);
                open.then_some(Nameless { at, symbol })
            }));
            out[begin..].sort_unstable_by_key(|nameless| nameless.at);
        }
        out
    }

    /// Reads the names of the definitions in `nameless` from the archive `file`. A definition whose
    /// name is one of `names` gets the id of that name.
    pub fn name_all(
        &mut self,
        file: &Handle,
        nameless: &[Nameless],
        names: &SymbolNames,
    ) -> Result<(), ReadError> {
        let mut window = Window { file, bytes: Vec::new(), begin: 0, len: 0 };
        for (index, Nameless { at, symbol }) in nameless.iter().enumerate() {
            let after = nameless[index..].iter().map(|next| next.at.wrapping_sub(*at));
            let id = window.name(*at, after)?.and_then(|name| names.find(name));
            if let (Some(symbol), Some(id)) = (self.symbols.get_mut(*symbol), id) {
                symbol.name = id;
            }
        }
        Ok(())
    }
}

/// The part of a file that was read last.
struct Window<'f> {
    file: &'f Handle,
    bytes: Vec<u8>,
    begin: u64,
    len: usize,
}

impl Window<'_> {
    /// The name at `at`, if the window holds all of it.
    fn held(&self, at: u64) -> Option<&[u8]> {
        let skip = usize::try_from(at.checked_sub(self.begin)?).ok()?;
        stem(self.bytes.get(..self.len)?.get(skip..)?)
    }

    /// The name at `at`; `None` if the file ends before the name does. `after` yields distances
    /// in bytes from `at`: first 0 for this name, then one for each wanted name that follows it
    /// in the list.
    fn name(
        &mut self,
        at: u64,
        after: impl Iterator<Item = u64>,
    ) -> Result<Option<&[u8]>, ReadError> {
        if self.held(at).is_some() {
            return Ok(self.held(at));
        }
        let near = after.take(MOST).take_while(|distance| *distance < WINDOW).last().unwrap_or(0);
        let mut size = in_memory(near + NAME)?;
        while self.held(at).is_none() {
            self.bytes.resize(self.bytes.len().max(size), 0);
            (self.begin, self.len) = (at, self.file.read_at(&mut self.bytes[..size], at)?);
            if self.len < size {
                break;
            }
            size = size.saturating_mul(4);
        }
        Ok(self.held(at))
    }
}
