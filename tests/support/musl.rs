//! Builds files for musl with `musl-gcc`; the path of musl's loader.

use crate::support::{self, Lab, clean, skip};
use std::path::Path;

/// musl's loader, which is also its libc.
pub(crate) const LOADER: &str = "/lib/ld-musl-x86_64.so.1";

/// True if musl is installed; else `test` is skipped.
pub(crate) fn is_there(test: &str) -> bool {
    let is_there = support::has("musl-gcc") && Path::new(LOADER).exists();
    if !is_there {
        skip(test, "needs musl-gcc (Debian: musl-tools)");
    }
    is_there
}

/// Builds a shared object without libc.
pub(crate) fn so(lab: &Lab, out: &str, source: &str, flags: &[&str]) {
    let own = ["-nostdlib", "-Wl,--no-as-needed,--allow-shlib-undefined"];
    lab.so(out, source, &[&own, flags].concat());
}

/// Builds a program for musl. `flags` follow the source on the command line.
pub(crate) fn exe(lab: &Lab, out: &str, source: &str, flags: &[&str]) {
    let here = lab.root();
    let here = here.to_str().expect("a path in UTF-8");
    let c = lab.write("main.c", source);
    if let Some(dir) = Path::new(out).parent() {
        std::fs::create_dir_all(lab.path(dir.to_str().expect("UTF-8"))).expect("a directory");
    }
    let mut command = clean("musl-gcc");
    command.current_dir(lab.root()).args(["-w", "-o", out]);
    command.args(["-Wl,--no-as-needed,--allow-shlib-undefined"]).arg(c);
    command.args(flags.iter().map(|flag| flag.replace("$PWD", here)));
    let output = command.output().expect("musl-gcc runs");
    assert!(output.status.success(), "{out}: {}", String::from_utf8_lossy(&output.stderr));
}
