//! A small system for a chroot: this machine's loader, C library, `env` and ldconfig, and libraries
//! and programs built once for all cases.

use super::random::Random;
use crate::support::{Lab, clean, normalise};
use std::path::{Path, PathBuf};

pub const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
const MULTIARCH: &str = "usr/lib/x86_64-linux-gnu";

/// The libraries by letter.
pub const LETTERS: [char; 6] = ['a', 'b', 'c', 'd', 'e', 'f'];
/// Builds of each library, and programs.
pub const BUILDS: usize = 5;
pub const PROGRAMS: usize = 6;
/// Symbols of each library.
const SYMBOLS: usize = 3;

/// The directory of a system with a merged `/usr` and only its loader.
pub fn bare(lab: &Lab, name: &str) -> PathBuf {
    let root = lab.mkdir(name);
    for dir in [MULTIARCH, "usr/lib64", "usr/bin", "etc/ld.so.conf.d", "sbin", "var/cache/ldconfig"]
    {
        std::fs::create_dir_all(root.join(dir)).expect("a directory");
    }
    for (link, target) in [("lib", "usr/lib"), ("lib64", "usr/lib64"), ("bin", "usr/bin")] {
        std::os::unix::fs::symlink(target, root.join(link)).expect("a link");
    }
    let copies = [
        ("/lib64/ld-linux-x86-64.so.2", format!("{MULTIARCH}/ld-linux-x86-64.so.2")),
        ("/lib/x86_64-linux-gnu/libc.so.6", format!("{MULTIARCH}/libc.so.6")),
        ("/usr/bin/env", "usr/bin/env".to_owned()),
        ("/sbin/ldconfig", "sbin/ldconfig".to_owned()),
    ];
    for (from, to) in copies {
        std::fs::copy(from, root.join(to)).expect("a file of this machine");
    }
    let loader = "../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";
    let link = root.join("usr/lib64/ld-linux-x86-64.so.2");
    std::os::unix::fs::symlink(loader, link).expect("a link");
    std::fs::write(root.join("etc/ld.so.conf"), "include /etc/ld.so.conf.d/*.conf\n").expect("it");
    root
}

/// Builds `pool/a0.so` to `pool/f4.so` and `pool/p0` to `pool/p5`.
pub fn build(lab: &Lab, random: &mut Random) {
    for letter in LETTERS {
        let source: String =
            (0..SYMBOLS).map(|n| format!("int {letter}{n}(void) {{ return 1; }}\n")).collect();
        let soname = format!("-Wl,-soname,lib{letter}.so.1");
        lab.so(&format!("pool/stub/lib{letter}.so"), &source, &[&soname]);
    }
    for letter in LETTERS {
        for build in 0..BUILDS {
            let lost = if random.chance(30) { random.below(SYMBOLS) } else { SYMBOLS };
            let mut source: String = (0..SYMBOLS)
                .filter(|n| *n != lost)
                .map(|n| format!("int {letter}{n}(void) {{ return 1; }}\n"))
                .collect();
            let others: Vec<char> = LETTERS.into_iter().filter(|other| *other != letter).collect();
            let mut flags = calls(&mut source, &others, 1, random);
            let soname = match random.below(20) {
                0 => None,
                1 => Some(format!("lib{letter}.so.2")),
                _ => Some(format!("lib{letter}.so.1")),
            };
            flags.extend(soname.map(|soname| format!("-Wl,-soname,{soname}")));
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            lab.so(&format!("pool/{letter}{build}.so"), &source, &flags);
        }
    }
    for program in 0..PROGRAMS {
        let mut source = String::new();
        let flags = calls(&mut source, &LETTERS, 3, random);
        source.push_str("int main(void) { return 0; }\n");
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        lab.exe(&format!("pool/p{program}"), &source, &flags);
    }
}

/// Calls of some libraries, with the flags of the link.
fn calls(source: &mut String, letters: &[char], most: usize, random: &mut Random) -> Vec<String> {
    let mut flags = vec!["-Wl,--no-as-needed".to_owned(), "-Lpool/stub".to_owned()];
    let mut letters = letters.to_vec();
    random.shuffle(&mut letters);
    for letter in letters.into_iter().take(random.below(most + 1)) {
        for n in 0..SYMBOLS {
            source.push_str(&format!(
                "int {letter}{n}(void); int use{letter}{n}(void) {{ return {letter}{n}(); }}\n"
            ));
        }
        flags.push(format!("-l{letter}"));
    }
    let path = match random.below(6) {
        0 => "$ORIGIN",
        1 => "/opt/b/lib",
        2 => "/usr/lib/private",
        _ => return flags,
    };
    flags.push(format!("-Wl,-rpath,{path}"));
    flags
}

/// True if this process may change its root.
pub fn has_chroot() -> bool {
    clean("chroot").args(["/", "true"]).status().is_ok_and(|status| status.success())
}

/// Runs a script that makes files.
pub fn sh(lab: &Lab, script: &str) {
    let output = lab.sh(script);
    assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// ldconfig of the system itself. Another thread may start a process while the copy of ldconfig is
/// written: until that process has replaced itself, the copy is busy.
pub fn ldconfig(root: &Path) {
    for attempt in 0.. {
        let done = clean("chroot").arg(root).arg("/sbin/ldconfig").output().expect("chroot");
        let said = String::from_utf8_lossy(&done.stderr);
        if attempt < 100 && said.contains("Text file busy") {
            std::thread::sleep(std::time::Duration::from_millis(20));
            continue;
        }
        assert!(done.status.success(), "{said}");
        return;
    }
}

/// The output of the system's loader for a file, like `ldd -r`.
pub fn traced(root: &Path, file: &str) -> String {
    let verify = clean("chroot").arg(root).args([LOADER, "--verify", file]).output();
    if !matches!(verify.expect("chroot runs").status.code(), Some(0 | 2)) {
        return "\tnot a dynamic executable\n".to_owned();
    }
    let mut command = clean("chroot");
    let variables = ["-i", "LD_TRACE_LOADED_OBJECTS=1", "LD_WARN=yes", "LD_BIND_NOW=yes"];
    command.arg(root).arg("/usr/bin/env").args(variables).args([LOADER, file]);
    let output = command.output().expect("chroot runs");
    normalise(&String::from_utf8_lossy(&[output.stdout, output.stderr].concat()))
}
