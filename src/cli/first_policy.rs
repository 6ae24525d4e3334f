//! The command `policy init --from`: audits a prefix or reads a report, and writes a policy that
//! accepts its findings.

use super::exit::Exit;
use super::{Sandbox, SharedOptions, diff, message, plan, policy};
use crate::emit::first_policy;
use crate::text::show;
use anyhow::Result;
use std::path::Path;

/// Writes the policy to `file`.
pub(super) fn write(shared: &SharedOptions, from: &Path, file: &Path) -> Result<Exit> {
    // The policy is written after the audit, and the sandbox would refuse that.
    let shared = SharedOptions { sandbox: Sandbox::Off, ..shared.clone() };
    let report = diff::report_of(&shared, from)?;
    let made = first_policy(&report, &plan::today().to_string());
    for refused in &made.refused {
        message::warning(&format!("{} {}: its findings stay", show(&refused.name), refused.reason));
    }
    policy::write_new(file, &made.bytes)?;
    Ok(Exit::Clean)
}
