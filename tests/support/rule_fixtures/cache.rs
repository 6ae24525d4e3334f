//! Fixtures that were built before: each is built once, and then copied. The copies are below the
//! target directory, so that all test binaries share them. The key covers all that decides the
//! files: the folder of the fixture, this code, and the tools.

use super::{Built, Fixture};
use crate::support::{Lab, clean};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Versions of the compiler, the linker and `ar`.
static TOOLS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let version = |tool: &str| {
        let output = clean(tool).arg("--version").output();
        output.unwrap_or_else(|error| panic!("{tool}: {error}")).stdout
    };
    ["cc", "ld", "ar"].map(version).concat()
});

/// The code that builds fixtures.
const CODE: [&str; 4] = [
    include_str!("mod.rs"),
    include_str!("../mod.rs"),
    include_str!("../device.rs"),
    include_str!("../elf_file.rs"),
];

/// The last line of a list of arguments, which shows that the list is whole.
const END: &str = "# end";

/// The place of a fixture in the cache. Files with the path of their laboratory are not cached.
pub(super) fn place(fixture: &Fixture, script: &str) -> Option<PathBuf> {
    if script.contains("$PWD") {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    (CODE, &*TOOLS, fixture.name()).hash(&mut hasher);
    let mut files: Vec<PathBuf> = std::fs::read_dir(fixture.path(""))
        .expect("the folder of a fixture")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    for file in files.iter().filter(|file| file.is_file()) {
        (file, std::fs::read(file).expect("a file")).hash(&mut hasher);
    }
    let name = format!("{:016x}", hasher.finish());
    Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures").join(name))
}

/// A copy of a cached fixture; `None` if it is not in the cache.
pub(super) fn find(place: &Path) -> Option<Built> {
    let list = std::fs::read_to_string(place.join("audit")).ok()?;
    let audit: Vec<String> = list.lines().map(str::to_owned).collect();
    let (END, audit) = audit.split_last().map(|(last, audit)| (&**last, audit))? else {
        return None;
    };
    let built = Built { lab: Lab::new(), audit: audit.to_vec() };
    assert!(copy(&place.join("lab"), &built.lab.root()), "cp {}", place.display());
    Some(built)
}

/// Puts a fixture that was just built into the cache. Another process may do so at the same time.
pub(super) fn keep(place: &Path, built: &Built) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let new = place.with_extension(format!("{}-{number}", std::process::id()));
    std::fs::create_dir_all(new.join("lab")).expect("a directory");
    let list = [&built.audit[..], &[END.to_owned()]].concat().join("\n");
    std::fs::write(new.join("audit"), list).expect("a list");
    // A user who is not root cannot copy files without permissions.
    let is_whole = copy(&built.lab.root(), &new.join("lab"));
    if !is_whole || std::fs::rename(&new, place).is_err() {
        std::fs::remove_dir_all(&new).expect("the directory of this process");
    }
}

/// True if everything was copied.
fn copy(from: &Path, to: &Path) -> bool {
    let output = clean("cp").arg("-a").arg(from.join(".")).arg(to).output();
    output.expect("cp runs").status.success()
}
