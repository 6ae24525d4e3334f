//! Fetches Debian's cross packages, unpacks them below `target`, and lists their shared objects.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::support::{clean, skip};

/// The C library of each machine, and of some second ABIs.
const LIBC: &[&str] = &[
    "libc6-arm64-cross",
    "libc6-armel-cross",
    "libc6-armhf-cross",
    "libc6-arc-cross",
    "libc6-hppa-cross",
    "libc6-i386-cross",
    "libc6-m68k-cross",
    "libc6-mips-cross",
    "libc6-mips64-cross",
    "libc6-mips64el-cross",
    "libc6-mips64r6el-cross",
    "libc6-mipsel-cross",
    "libc6-mipsn32-cross",
    "libc6-mipsn32el-cross",
    "libc6-mipsr6-cross",
    "libc6-powerpc-cross",
    "libc6-ppc64-cross",
    "libc6-ppc64el-cross",
    "libc6-riscv64-cross",
    "libc6-s390-s390x-cross",
    "libc6-s390x-cross",
    "libc6-sh4-cross",
    "libc6-sparc-sparc64-cross",
    "libc6-sparc64-cross",
    "libc6-x32-cross",
    "libc6.1-alpha-cross",
];

/// Architectures whose GCC libraries are fetched too.
const GCC: &[&str] = &[
    "alpha",
    "arc",
    "arm64",
    "armel",
    "armhf",
    "hppa",
    "i386",
    "m68k",
    "mips",
    "mips64",
    "mips64el",
    "mips64r6el",
    "mipsel",
    "mipsr6",
    "powerpc",
    "ppc64",
    "ppc64el",
    "riscv64",
    "s390x",
    "sh4",
    "sparc64",
    "x32",
];

/// The libraries of one machine.
#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) files: Vec<PathBuf>,
}

impl Machine {
    /// The file whose name begins with `name`.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        let found = self.files.iter().find(|path| {
            path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name))
        });
        found.unwrap_or_else(|| panic!("no {name} among {:?}", self.files)).clone()
    }
}

/// The emulator of a machine, by qemu's name.
pub(crate) fn emulator(name: &str) -> PathBuf {
    cache().join(format!("tree/usr/bin/qemu-{name}-static"))
}

fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cross-packages")
}

/// Only one test of a process fetches the packages; the others wait for it.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The shared objects of all packages. `None` if the packages cannot be fetched; then `test` is
/// skipped.
pub(crate) fn files(test: &str) -> Option<Vec<PathBuf>> {
    let guard = ONE_AT_A_TIME.lock();
    let dir = cache();
    let done = dir.join("unpacked");
    if !done.exists() {
        let names: Vec<String> = LIBC
            .iter()
            .chain(&["qemu-user-static"])
            .map(|name| (*name).to_owned())
            .chain(GCC.iter().flat_map(|arch| {
                let gcc = match *arch {
                    "hppa" => "libgcc-s4",
                    "m68k" => "libgcc-s2",
                    _ => "libgcc-s1",
                };
                [gcc, "libstdc++6", "libatomic1", "libgomp1"]
                    .map(|lib| format!("{lib}-{arch}-cross"))
            }))
            .collect();
        if let Err(reason) = fetch(&dir, &names) {
            skip(test, &format!("the packages cannot be had: {reason}"));
            return None;
        }
        std::fs::write(&done, "").expect("a file below target");
    }
    drop(guard);
    let mut files: Vec<PathBuf> = walkdir::WalkDir::new(dir.join("tree"))
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .map(walkdir::DirEntry::into_path)
        .filter(|path| is_shared_object(path))
        .collect();
    files.sort();
    Some(files)
}

fn fetch(dir: &Path, names: &[String]) -> Result<(), String> {
    let io = |error: std::io::Error| error.to_string();
    std::fs::create_dir_all(dir).map_err(io)?;
    // Not every release has the packages of every machine.
    let known = clean("apt-cache").arg("pkgnames").output().map_err(io)?.stdout;
    let known = String::from_utf8_lossy(&known).into_owned();
    let known: BTreeSet<&str> = known.lines().collect();
    let names: Vec<&String> = names.iter().filter(|name| known.contains(name.as_str())).collect();
    if names.is_empty() {
        return Err("apt-cache knows none of them".to_owned());
    }
    let output =
        clean("apt-get").current_dir(dir).arg("download").args(names).output().map_err(io)?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    for entry in dir.read_dir().map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            let status = clean("dpkg").arg("-x").arg(&path).arg(dir.join("tree")).status();
            if !status.map_err(io)?.success() {
                return Err(format!("dpkg -x {}", path.display()));
            }
        }
    }
    Ok(())
}

fn is_shared_object(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.contains(".so")
        && !name.ends_with(".py")
        && std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"))
}
