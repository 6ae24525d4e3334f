//! Archives that are merged from others: which list names their parts (`list`), and what a library
//! that was linked from one lacks (`solve`). The rule about lists and `fix` ask; nothing here makes
//! findings or fixes.

pub mod list;
pub mod solve;
