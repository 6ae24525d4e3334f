//! The real loader's answer about one file, as `ldd -r` would print it.
//!
//! `ldd` is a shell script around two calls of the loader; direct calls are several times faster.
//! The script itself runs on a sample, to show that both answers are equal.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

use super::ld_debug;
use crate::support::{clean, normalise};

/// The loaders that `ldd` tries, with the ELF class of each.
const LOADERS: [(&str, u8); 2] = [("/lib/ld-linux.so.2", 1), ("/lib64/ld-linux-x86-64.so.2", 2)];

pub struct Answer {
    pub text: String,
    /// The signal or message of the loader's crash, if any.
    pub crash: Option<String>,
}

/// The environment for both sides.
#[derive(Default, Clone, Copy)]
pub struct Environment<'a> {
    pub library_path: Option<&'a str>,
    pub preload: Option<&'a str>,
}

impl Environment<'_> {
    pub fn set(&self, command: &mut Command) {
        if let Some(path) = self.library_path {
            command.env("LD_LIBRARY_PATH", path);
        }
        if let Some(files) = self.preload {
            command.env("LD_PRELOAD", files);
        }
    }
}

pub fn ask(cwd: &Path, typed: &str, environment: Environment<'_>) -> Answer {
    let Some(mut command) = trace(cwd, typed, environment) else {
        return Answer { text: "\tnot a dynamic executable\n".to_owned(), crash: None };
    };
    let output = command.output().expect("the loader runs");
    let crash = crash(&output);
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Answer { text: normalise(&text), crash }
}

/// The loader's bindings for a file; nothing if it crashes or refuses the file.
pub fn bindings(
    cwd: &Path,
    file: &str,
    environment: Environment<'_>,
) -> Option<BTreeSet<ld_debug::Binding>> {
    let mut command = trace(cwd, file, environment)?;
    let output = command.env("LD_DEBUG", "bindings").output().expect("the loader runs");
    let text = String::from_utf8_lossy(&output.stderr);
    crash(&output).is_none().then(|| ld_debug::bindings(&text, ""))
}

/// The loader's trace mode for a file; `None` if no loader accepts it.
fn trace(cwd: &Path, typed: &str, environment: Environment<'_>) -> Option<Command> {
    let file = if typed.contains('/') { typed.to_owned() } else { format!("./{typed}") };
    let class = class(&cwd.join(&file));
    let accepts = |(loader, _): &&(&str, u8)| {
        let verified = clean(loader).current_dir(cwd).arg("--verify").arg(&file).output();
        verified.is_ok_and(|output| matches!(output.status.code(), Some(0 | 2)))
    };
    let mine = LOADERS.iter().filter(|(_, wants)| class == Some(*wants));
    let (loader, _) = mine.into_iter().find(accepts)?;
    let mut command = clean(loader);
    command.current_dir(cwd).env("LD_TRACE_LOADED_OBJECTS", "1");
    command.env("LD_WARN", "yes").env("LD_BIND_NOW", "yes");
    environment.set(&mut command);
    command.arg(&file);
    Some(command)
}

fn class(path: &Path) -> Option<u8> {
    let mut head = [0; 5];
    std::fs::File::open(path).ok()?.read_exact(&mut head).ok()?;
    head.starts_with(b"\x7fELF").then_some(head[4])
}

fn crash(output: &Output) -> Option<String> {
    if let Some(signal) = output.status.signal() {
        return Some(format!("signal {signal}"));
    }
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().find(|line| line.starts_with("Inconsistency detected")).map(str::to_owned)
}
