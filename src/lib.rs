//! Audits the linkage of an install prefix the way the dynamic loader will see it, without
//! running any of its files.
//!
//! ```text
//! options ─► Plan
//! PATHs ─walk─► WalkedFiles ─read─► Facts of one file ─collect─► Corpus ─resolve─► Closures
//!       ─bind─► Bindings ─diagnose─► Diagnosis ─rules─► Findings ─triage─► Report ─► report/
//! ```
//!
//! Each stage has one type for its result, and reads the results of earlier stages by `&`. The
//! stages from `resolve` to `diagnose` open no file. They return a request for each missing fact;
//! [`audit`] reads these facts and runs the stage again. ARCHITECTURE.md says where code belongs.

pub mod audit;
pub mod bind;
pub mod catalogue;
pub mod cli;
pub mod cmake;
pub mod cover;
pub mod demangle;
pub mod demo;
pub mod diagnosis;
pub mod diff;
pub mod emit;
pub mod facts;
pub mod finding;
pub mod fix;
pub mod format;
pub mod gpu;
pub mod hooks;
pub mod id;
pub mod merged;
mod order;
pub mod package;
mod parallel;
pub mod plan;
pub mod policy;
pub mod report;
pub mod resolve;
pub mod rules;
pub mod sniff;
pub mod stage;
mod starts;
pub mod symbol_names;
pub mod text;
pub mod tree;
pub mod triage;
pub mod views;
pub mod wants;
