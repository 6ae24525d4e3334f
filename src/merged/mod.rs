//! Archives that are merged from others. `list` finds the archives that are merged from a list of
//! archives. `solve` finds the archives that are missing from the link of a library, which may be
//! linked from a merged archive. The rule about lists and `fix` turn the results into findings and
//! fixes. `link` models the link of a library, and `shared` chooses shared libraries. `runtime`
//! recognises archives of the C library, compilers and tools.

pub mod link;
pub mod list;
pub mod runtime;
pub mod shared;
pub mod solve;
