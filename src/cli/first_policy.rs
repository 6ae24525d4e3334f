//! The command `policy init --from`: audits a prefix or reads a report, and writes a policy that
//! accepts its findings.

use super::exit::Exit;
use super::{Sandbox, SharedOptions, diff, message, plan, policy};
use crate::emit::{first_policy, is_about_waiver};
use crate::policy::builtin::DEFAULT;
use crate::report::Report;
use crate::text::{show, show_path};
use anyhow::Result;
use std::path::Path;

/// Audits the prefix `from`, or reads the report `from`, and writes the policy to `file`.
pub(super) fn write(shared: &SharedOptions, from: &Path, file: &Path) -> Result<Exit> {
    // The policy is written after the audit. The sandbox of the audit would refuse this write.
    let shared = SharedOptions { sandbox: Sandbox::Off, ..shared.clone() };
    let report = diff::report_of(&shared, from)?;
    let extends = extended(&report, file);
    let made = first_policy(&report, &extends, &plan::today().to_string());
    for refused in &made.refused {
        message::warning(&format!("{} {}: its findings stay", show(&refused.name), refused.reason));
    }
    let about_waivers = report.faults().filter(|finding| is_about_waiver(finding)).count();
    if about_waivers > 0 {
        message::warning(&format!(
            "findings about waivers, which get no entry: {about_waivers}\nhelp: remove these waivers from their policies"
        ));
    }
    policy::write_new(file, &made.bytes)?;
    Ok(Exit::Clean)
}

/// The policies that the new policy in `file` extends: the policies of the audit, so that their
/// waivers and levels still apply. `default` is left out, because it always applies.
fn extended(report: &Report, file: &Path) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in report.policies.iter().filter(|name| *name != DEFAULT.name) {
        match policy::seen_from(name, file) {
            Some(name) => names.push(name),
            None => message::warning(&format!(
                "{}: not found, so the new policy does not extend it\nhelp: add it to `extends` in {}",
                show(name.as_bytes()),
                show_path(file)
            )),
        }
    }
    names
}
