//! Archives that are merged from others: `list` finds the list of their parts, and `solve` the
//! archives that a library linked from one lacks. The rule about lists and `fix` use them. No
//! finding or fix is made here.

pub mod list;
pub mod solve;
