//! A case: files in a directory of their own, and what must be said of the first of them.

pub use super::harm::Expected;

#[derive(Clone, Debug)]
pub enum Label {
    /// Something is lost, and must be said.
    Reported(Expected),
    /// Nothing is.
    Clean,
}

pub struct Case {
    pub operation: &'static str,
    pub label: Label,
    /// The first one is the case, the others are what it needs.
    pub files: Vec<(String, Vec<u8>)>,
}
