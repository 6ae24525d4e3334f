//! Names that a definition turned out to need after it was read: somebody refers to what has the same
//! hash. The archive is looked into again, at these names alone, and the texts are compared.
//!
//! `facts::members` calls it, once all archives are read.

use super::elf_member::stem;
use super::members::{Members, NAMELESS};
use crate::format::ReadError;
use crate::symbol_names::SymbolNames;
use crate::tree::Handle;

/// Bytes that are read at once: names of a member lie in one table.
const WINDOW: usize = 8 << 10;

/// A definition without a name, by its place among the symbols, and where its name stands in the
/// archive.
pub struct Nameless {
    at: u64,
    symbol: usize,
}

impl Members {
    /// Definitions without a name that may have one of `names`, member by member, in the order in
    /// which their names stand in the archive.
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

    /// Reads the names of definitions in `file` again, and gives them their ids.
    pub fn name_all(
        &mut self,
        file: &Handle,
        nameless: &[Nameless],
        names: &SymbolNames,
    ) -> Result<(), ReadError> {
        let mut window = Window { file, bytes: Vec::new(), begin: 0, len: 0 };
        for Nameless { at, symbol } in nameless {
            let id = window.name(*at)?.and_then(|name| names.find(name));
            if let (Some(symbol), Some(id)) = (self.symbols.get_mut(*symbol), id) {
                symbol.name = id;
            }
        }
        Ok(())
    }
}

/// Some bytes of a file.
struct Window<'f> {
    file: &'f Handle,
    bytes: Vec<u8>,
    begin: u64,
    len: usize,
}

impl Window<'_> {
    /// The name at `at`, if its end is at hand.
    fn held(&self, at: u64) -> Option<&[u8]> {
        let skip = usize::try_from(at.checked_sub(self.begin)?).ok()?;
        stem(self.bytes.get(..self.len)?.get(skip..)?)
    }

    /// The name at `at`; nothing if the file ends before it does.
    fn name(&mut self, at: u64) -> Result<Option<&[u8]>, ReadError> {
        let mut size = WINDOW;
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
