//! Archives that are merged from others: `list` finds the list of their parts, `solve` the archives
//! that a library linked from one lacks. The rule about lists and `fix` use it; it makes no
//! findings or fixes.

pub mod list;
pub mod solve;
