//! Finds the dynamic tables in a file and reads them into one buffer. Most files need one read. A
//! file in which a tool such as patchelf has moved a table needs two.

use super::dynamic::Dynamic;
use super::segments::Segments;
use crate::format::{Defect, ReadError, Table, in_memory};
use crate::order::Arrange as _;
use crate::tree::Handle;
use std::ops::Range;

/// Gap in bytes up to which neighbouring tables are read together.
const GAP: u64 = 64 << 10;
/// Upper bound, in bytes, for a table of unknown size.
const OPEN_END: u64 = 4 << 20;

/// Upper bound, in bytes, for one table. It protects the memory, because a table in a sparse file
/// can have any size.
const MOST: u64 = 256 << 20;

/// Size in bytes up to which a thread keeps its buffer for tables. Hardly any program has larger
/// tables.
pub(super) const ROOM: usize = 1 << 20;
/// Replaces [`ROOM`] if the run keeps no dynamic tables (`Reading::lean`). The tables of the
/// largest libraries then also fit into the thread's buffer.
pub(super) const ROOM_LEAN: usize = 16 << 20;

/// The position of one table: its offset and length in the file, and its range in the buffer.
#[derive(Clone)]
pub(super) struct Piece {
    pub(super) table: Table,
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) at: Range<usize>,
}

/// The tables in file order, with their positions. Each table other than the string table ends at
/// or before the start of the next table.
pub(super) fn pieces(
    segments: &Segments,
    dynamic: &Dynamic,
    defects: &mut Vec<Defect>,
) -> Vec<Piece> {
    let mut starts: Vec<u64> = dynamic
        .addresses
        .iter()
        .filter_map(|vaddr| segments.file_offset(*vaddr, Table::Dynamic).ok())
        .map(|(offset, _)| offset)
        .collect();
    starts.sort_unstable();
    let wanted = [
        (Table::SysvHash, dynamic.hash.filter(|_| dynamic.gnu_hash.is_none())),
        (Table::GnuHash, dynamic.gnu_hash),
        (Table::Symbols, dynamic.symtab),
        (Table::Strings, dynamic.strtab),
        (Table::Versym, dynamic.versym),
        (Table::Verneed, dynamic.verneed),
        (Table::Verdef, dynamic.verdef),
    ];
    let mut pieces = Vec::new();
    for (table, vaddr) in wanted {
        let Some(vaddr) = vaddr else {
            // A truncated dynamic section may lack tags, and its truncation is reported already.
            if dynamic.terminated && matches!(table, Table::Symbols | Table::Strings) {
                let what = match table {
                    Table::Symbols => "has no DT_SYMTAB",
                    _ => "has no DT_STRTAB",
                };
                let at = segments.dynamic.map_or(0, |(offset, _)| offset);
                defects.push(Defect::new(Table::Dynamic, at, what));
            }
            continue;
        };
        match segments.file_offset(vaddr, table) {
            Ok((offset, rest)) => {
                let len = match (table, dynamic.strsz) {
                    (Table::Strings, Some(size)) => size,
                    _ => starts
                        .iter()
                        .find(|start| **start > offset)
                        .map_or(OPEN_END, |next| next - offset),
                };
                // llvm-ifs writes the size of another table into the DT_STRSZ of stubs.
                if table == Table::Strings && len > rest && !segments.is_stub {
                    let what = "is longer than the segment it lies in";
                    defects.push(Defect::new(table, offset, what));
                }
                pieces.push(Piece { table, offset, len: len.min(rest), at: 0..0 });
            }
            Err(defect) => defects.push(defect),
        }
    }
    pieces.arrange_by_key(|piece| piece.offset);
    pieces
}

/// Shortens tables that are larger than [`MOST`], and reports a defect for each.
pub(super) fn shorten(pieces: &mut [Piece], file_len: u64, defects: &mut Vec<Defect>) {
    for piece in pieces {
        if piece.len.min(file_len.saturating_sub(piece.offset)) > MOST {
            let what = "is longer than 256 MiB, which is the most that is read";
            defects.push(Defect::new(piece.table, piece.offset, what));
            piece.len = MOST;
        }
    }
}

/// Reads the pieces into one buffer, and records the position of each piece in this buffer. Pieces
/// in `head`, the file's first bytes, are not read again: six of ten libraries and programs have
/// all tables in `head`.
///
/// `scratch` is a buffer to reuse, with its maximum size in bytes. Reusing its pages is cheaper
/// than touching new ones. If `scratch` is `None` or too small, the result is a new buffer of
/// exactly the needed size.
pub(super) fn read_pieces(
    (file, head): (&Handle, &[u8]),
    scratch: Option<(&mut Vec<u8>, usize)>,
    pieces: &mut [Piece],
    defects: &mut Vec<Defect>,
) -> Result<Vec<u8>, ReadError> {
    let runs = runs(pieces, file.stat().len);
    let size: u64 = runs.iter().map(|run| run.len).sum();
    let size = in_memory(size)?;
    let (mut buffer, reused) = match scratch {
        Some((scratch, room)) if size <= room => {
            (with_len(std::mem::take(scratch), size, room), true)
        }
        _ => (Vec::with_capacity(size), false),
    };
    let mut base = 0;
    for run in runs {
        let len = in_memory(run.len)?;
        let start = usize::try_from(run.offset).ok();
        let known = start.and_then(|start| head.get(start..start.saturating_add(len)));
        let n = match (known, reused) {
            (Some(known), true) => {
                buffer[base..base + len].copy_from_slice(known);
                len
            }
            (Some(known), false) => {
                buffer.extend_from_slice(known);
                len
            }
            (None, true) => file.read_at(&mut buffer[base..base + len], run.offset)?,
            (None, false) => {
                // This read may fill the buffer to its capacity, beyond the end of the run.
                // `truncate` drops the bytes beyond. Reading only the run would require clearing
                // the buffer first, which costs more.
                file.read_on(&mut buffer, run.offset)?;
                buffer.truncate(base + len);
                buffer.len() - base
            }
        };
        for piece in &mut pieces[run.pieces] {
            let into = usize::try_from(piece.offset - run.offset).map_or(n, |into| into.min(n));
            let room = (n - into) as u64;
            if piece.len > room {
                let (at, end) = (piece.offset, piece.offset.saturating_add(piece.len));
                defects.push(Defect::cut(piece.table, at, end, "ends beyond the end of the file"));
            }
            let start = base + into;
            piece.at = start..start + usize::try_from(piece.len.min(room)).unwrap_or(0);
        }
        base += n;
    }
    Ok(buffer)
}

/// A buffer of at least `len` bytes, which may still contain bytes of an earlier file. The caller
/// must use only bytes that it has overwritten.
fn with_len(mut buffer: Vec<u8>, len: usize, room: usize) -> Vec<u8> {
    if buffer.len() < len {
        // Reserves `room` bytes at once. Pages that stay unused take no memory.
        buffer.reserve_exact(room.saturating_sub(buffer.len()));
        buffer.resize(len, 0);
    }
    buffer
}

/// Pieces that one `pread` covers.
struct PieceRun {
    offset: u64,
    len: u64,
    pieces: Range<usize>,
}

/// Groups pieces, which are sorted by offset, if the gaps between them have at most [`GAP`] bytes.
fn runs(pieces: &[Piece], file_len: u64) -> Vec<PieceRun> {
    let mut runs: Vec<PieceRun> = Vec::new();
    for (i, piece) in pieces.iter().enumerate() {
        let end = piece.offset.saturating_add(piece.len).min(file_len);
        match runs.last_mut() {
            Some(run) if piece.offset <= run.offset.saturating_add(run.len + GAP) => {
                run.len = run.len.max(end.saturating_sub(run.offset));
                run.pieces.end = i + 1;
            }
            _ => {
                let len = end.saturating_sub(piece.offset);
                runs.push(PieceRun { offset: piece.offset, len, pieces: i..i + 1 });
            }
        }
    }
    runs
}
