//! Measures the peak memory of another process, as the kernel counts it.
#![allow(unreachable_pub, reason = "every test binary uses its own part of this module")]

use std::time::Duration;

/// The highest VmHWM in kB that is seen until the process ends.
pub fn memory(id: u32) -> u64 {
    let mut peak = 0;
    while let Ok(text) = std::fs::read_to_string(format!("/proc/{id}/status")) {
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let Some(line) = line else { break };
        let number = line.trim().trim_end_matches(" kB");
        peak = peak.max(number.parse().expect("a number"));
        std::thread::sleep(Duration::from_millis(2));
    }
    peak
}
