//! An unusable ld.so.cache is reported, and libraries are found without it, as by the loader. An
//! absent cache is not reported.

use super::report::Report;
use crate::support::{self, Lab};
use serde_json::Value;

/// A root with a program, the loader and the C library in a default directory.
fn root() -> Lab {
    let lab = Lab::new();
    lab.exe("r/bin/app", "int main(void) { return 0; }", &[]);
    lab.mkdir("r/etc");
    lab.sh("for f in $(ldd r/bin/app | grep -o '/[^ ]*'); do
             mkdir -p r$(dirname $f); cp -L $f r$f
         done");
    lab
}

fn report(lab: &Lab) -> Report {
    Report::of(support::linkaudit().current_dir(lab.root()).args(["--root", "r", "r/bin"]))
}

#[test]
fn caches_that_cannot_be_used() {
    let lab = root();
    let sound = report(&lab);
    assert_eq!((sound.status, sound.findings().count()), (0, 0), "{}", sound.outline());
    lab.sh("/sbin/ldconfig -r r");
    let built = std::fs::read(lab.path("r/etc/ld.so.cache")).expect("a cache");
    let with_cache = report(&lab);
    assert_eq!((with_cache.status, with_cache.findings().count()), (0, 0));
    // The offset of the first key, and the number of entries.
    let (mut lost, mut many) = (built.clone(), built.clone());
    lost[48 + 4..48 + 8].copy_from_slice(&0x7fff_0000_u32.to_le_bytes());
    many[20..24].copy_from_slice(&(built.len() as u32 / 24).to_le_bytes());
    let cases: [(&str, &str, &str, Option<&[u8]>); 10] = [
        ("empty", "", "malformed", Some(b"")),
        ("no cache", "", "malformed", Some(b"something else")),
        ("cut in its header", "", "malformed", Some(&built[..30])),
        ("a key outside", "", "malformed", Some(&lost)),
        ("too many entries", "", "malformed", Some(&many)),
        ("a directory", "mkdir r/etc/ld.so.cache", "unreadable", None),
        ("a FIFO", "mkfifo r/etc/ld.so.cache", "unreadable", None),
        ("a loop", "ln -s ld.so.cache r/etc/ld.so.cache", "unreadable", None),
        ("a link that leads out", "ln -s /../../built r/etc/ld.so.cache", "unreadable", None),
        ("a link to nothing", "ln -s nothing r/etc/ld.so.cache", "unreadable", None),
    ];
    lab.write("built", &built);
    for (what, change, rule, bytes) in cases {
        lab.sh(&format!("rm -rf r/etc/ld.so.cache; {change}"));
        if let Some(bytes) = bytes {
            lab.write("r/etc/ld.so.cache", bytes);
        }
        let found = report(&lab);
        let one: Vec<&Value> = found.findings().collect();
        assert_eq!((found.status, one.len()), (3, 1), "{what}: {}", found.outline());
        assert_eq!(one[0]["rule"], rule, "{what}");
        assert_eq!(one[0]["path"], "/etc/ld.so.cache", "{what}");
        assert_eq!(found.value["files"], sound.value["files"], "{what}");
    }
    println!("caches: {} cases, 0 silent", cases.len());
}
