//! Archives that are merged from others. `list` finds the archives that are merged from a list of
//! archives. `solve` finds the archives that the link of a library lacks; the library may be linked
//! from a merged archive. `fix` and the rule about lists turn the results into fixes and findings.
//! `link` models the link of a library, and `shared` chooses shared libraries. `runtime` recognises
//! archives of the C library, compilers and tools.

pub mod link;
pub mod list;
pub mod runtime;
pub mod shared;
pub mod solve;
