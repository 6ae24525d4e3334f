//! A case: files in a directory of their own, and the expected answer for the first.

pub use super::harm::Expected;

#[derive(Clone, Debug)]
pub enum Label {
    /// A needed part is lost, and must be reported.
    Reported(Expected),
    /// No needed part is lost.
    Clean,
}

pub struct Case {
    pub operation: &'static str,
    pub label: Label,
    /// The first file is the case; the others are files that it needs.
    pub files: Vec<(String, Vec<u8>)>,
}
