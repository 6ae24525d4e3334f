//! Promises of linkaudit about hostile input, one test for each; most tests are elsewhere:
//!
//! | promise | shown in |
//! | --- | --- |
//! | 1 survival | `mutants`, `second_reader::cross_check_survives_damage`, `fuzz_seeds` |
//! | 2 time | here, `costs_are_linear` |
//! | 3 memory | here, `claims_are_not_believed`; `graphs` |
//! | 4 no silent skip | `mutants` (damage is reported), `support/report.rs` (totals add up) |
//! | 5 no false alarm | `host_sweep`, `mutants` (section headers), `second_reader` |
//! | 6 nothing executed, written, called | `walk::hands_off` |
//! | 7 opens stay where the loader looks | `walk::hands_off` |
//! | 8 special files | `walk::kinds` |
//! | 9 races | here, `races` |
//! | 10 walk | `walk::links`, `walk::big`; here, `a_hundred_thousand_files` |
//! | 11 graphs | `graphs` |
//! | 12 output hygiene | `walk::names`, `cli::names`; here, `hostile_names` |
//! | 13 emitted scripts | nothing is emitted yet |
//! | 14 byte order | unit tests of `format/elf` |
//! | 15 section damage | here, `section_headers_do_not_matter`; `mutants` |
//! | 16 determinism | `determinism` |
#![cfg(target_os = "linux")]

mod costs;
mod names;
mod races;
use crate::support::random;
use crate::support::report;
mod sections;
use crate::support::tiny;
