//! The functions and macros of a file that link some of their arguments. `calls` reads them.

use crate::id::FastMap;
use std::collections::BTreeSet;

/// The functions and macros of a file that link some of their arguments.
#[derive(Default)]
pub(super) struct Helpers {
    /// By name in lower case. Several functions may have the same name.
    pub(super) known: FastMap<Vec<u8>, Vec<Helper>>,
    /// The open functions and macros.
    pub(super) open: Vec<Helper>,
}

/// One function or macro.
pub(super) struct Helper {
    pub(super) name: Vec<u8>,
    pub(super) parameters: Vec<Vec<u8>>,
    /// The prefix of `cmake_parse_arguments()`, with `_`.
    pub(super) prefix: Vec<u8>,
    pub(super) keywords: BTreeSet<Vec<u8>>,
    /// The variables with arguments, each with the arguments that it may have.
    pub(super) variables: FastMap<Vec<u8>, Values>,
    pub(super) links: Vec<Link>,
}

/// Some of the arguments of a call.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Values {
    /// The arguments from this index on.
    From(usize),
    /// The arguments after this keyword.
    After(Vec<u8>),
}

/// A link of some arguments.
pub(super) struct Link {
    /// The text of the target in the body. `None` if the first of the values is the target.
    pub(super) target: Option<Vec<u8>>,
    pub(super) values: Values,
    pub(super) is_private: bool,
    pub(super) is_interface: bool,
}
