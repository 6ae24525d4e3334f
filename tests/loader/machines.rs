//! Other machines: the C and C++ libraries of Debian's cross compilers must be read as by
//! `readelf`, and generated files test the rules that differ between machines.
//!
//! The packages come from `apt-get download` and are unpacked below `target`. Nothing is installed,
//! and only loaders are run, by an emulator.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod abi;
mod classes;
mod emulated;
mod facts;
mod forge;
use crate::support::packages;
mod readelf;
mod tables;

use std::collections::BTreeSet;
use std::path::Path;

use linkaudit::format::Reading;
use linkaudit::format::elf::relocs::{self, Relocations};
use linkaudit::format::elf::{GlibcVersion, Object, machine};
use linkaudit::tree::{DiskTree, Handle, Opened, Tree as _};

/// A file as linkaudit reads it, with all its tables.
pub(crate) fn read(path: &Path) -> (Handle, Object) {
    let Ok(Opened::File(handle)) = DiskTree::new().open(path) else {
        panic!("{} cannot be opened", path.display())
    };
    let bytes = std::fs::read(path).expect("a file that was opened");
    let head = &bytes[..bytes.len().min(4096)];
    let object =
        linkaudit::format::elf::read(&handle, head, Reading { tables: true, ..Reading::default() });
    (handle, object.expect("a readable file"))
}

/// The totals of a comparison of many files.
#[derive(Default)]
struct Sum {
    files: usize,
    facts: usize,
    machines: BTreeSet<String>,
    differences: Vec<String>,
}

impl Sum {
    fn compare(&mut self, path: &Path, ours: &[String], theirs: &[String]) {
        self.facts += theirs.len();
        let pairs = ours.iter().zip(theirs).find(|(a, b)| a != b);
        let first = match pairs {
            Some((a, b)) => format!("ours `{a}`, readelf `{b}`"),
            None if ours.len() == theirs.len() => return,
            None => {
                let at = ours.len().min(theirs.len());
                let (a, b) = (ours.get(at), theirs.get(at));
                format!("{} and {} facts: ours {a:?}, readelf {b:?}", ours.len(), theirs.len())
            }
        };
        self.differences.push(format!("{}: {first}", path.display()));
    }

    fn finish(self, what: &str) {
        println!(
            "{what}: {} files of {} machines, {} compared, {} differences ({})",
            self.files,
            self.machines.len(),
            self.facts,
            self.differences.len(),
            self.machines.into_iter().collect::<Vec<_>>().join(" ")
        );
        let shown = self.differences.iter().take(20).cloned().collect::<Vec<_>>();
        assert!(shown.is_empty(), "{}", shown.join("\n"));
        assert!(self.files > 300, "{} files", self.files);
    }
}

/// The machine and ABI of an object, as the sums name it.
fn label(object: &Object) -> String {
    let name = machine::name(object.header.target());
    let nan2008 = name.starts_with("mips") && object.header.flags & 0x400 != 0;
    if nan2008 { format!("{name}-nan2008") } else { name }
}

#[test]
fn facts_are_those_of_readelf() {
    let Some(files) = packages::files("facts_are_those_of_readelf") else { return };
    let (mut sum, mut lookups) = (Sum::default(), 0);
    for path in &files {
        let (_, object) = read(path);
        sum.files += 1;
        sum.machines.insert(label(&object));
        let ours = facts::of(&object);
        sum.compare(path, &ours, &readelf::facts(path));
        for lost in facts::not_found(&object, &mut lookups) {
            sum.differences.push(format!("{}: {lost}", path.display()));
        }
        for defect in &object.defects {
            sum.differences.push(format!("{}: {defect:?}", path.display()));
        }
        if machine::of(object.header.target()).is_none() {
            sum.differences.push(format!("{}: no row", path.display()));
        }
    }
    println!("definitions asked for through their own hash tables: {lookups}");
    assert!(sum.machines.len() >= 15, "{:?}", sum.machines);
    assert!(lookups > 100_000);
    sum.finish("facts of other machines");
}

#[test]
fn relocations_are_those_of_readelf() {
    let Some(files) = packages::files("relocations_are_those_of_readelf") else { return };
    let mut sum = Sum::default();
    for path in &files {
        let (handle, object) = read(path);
        sum.files += 1;
        sum.machines.insert(label(&object));
        let Relocations { list, defects } =
            relocs::read(&handle, &object).expect("a file that was read before");
        let ours: Vec<String> =
            list.iter().map(|r| classes::line(r.symbol().number(), r.class())).collect();
        let (theirs, unknown) = classes::expected(path, &label(&object));
        sum.compare(path, &ours, &theirs);
        sum.differences.extend(unknown.iter().map(|t| format!("{}: {t}", path.display())));
        sum.differences.extend(defects.iter().map(|d| format!("{}: {d:?}", path.display())));
    }
    sum.finish("relocations of other machines");
}

#[test]
fn loaders_tell_where_they_search() {
    let Some(files) = packages::files("loaders_tell_where_they_search") else { return };
    let mut loaders = 0;
    for path in &files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !(name.starts_with("ld-linux") || name.starts_with("ld.so") || name.starts_with("ld64"))
        {
            continue;
        }
        loaders += 1;
        let found =
            linkaudit::format::elf::interpreter::scan(&std::fs::read(path).expect("a file"));
        let dirs: Vec<_> =
            found.system_dirs.iter().map(|dir| String::from_utf8_lossy(dir).into_owned()).collect();
        // Debian's four: /lib/T/ /usr/lib/T/ /lib/ /usr/lib/, or /lib32/ … for the second ABI.
        assert_eq!(dirs.len(), 4, "{}: {dirs:?}", path.display());
        assert_eq!(dirs[1], format!("/usr{}", dirs[0]), "{}", path.display());
        assert_eq!(dirs[2..], ["/lib/", "/usr/lib/"], "{}", path.display());
        let lib = String::from_utf8_lossy(found.lib.as_deref().unwrap_or_default()).into_owned();
        assert_eq!(format!("/{lib}/"), dirs[0], "{}", path.display());
        assert_eq!(found.cache.as_deref(), Some(&b"/etc/ld.so.cache"[..]), "{}", path.display());
        assert_eq!(found.preload.as_deref(), Some(&b"/etc/ld.so.preload"[..]));
        assert!(
            found.release.is_some_and(|release| release >= GlibcVersion::new(2, 36))
                && found.debian
        );
        let (_, object) = read(path);
        let row = machine::of(object.header.target()).expect("a row");
        let known = row.loaders.iter().any(|loader| loader.ends_with(&format!("/{name}")));
        assert!(known, "{name} is no loader of {}: {:?}", row.name, row.loaders);
    }
    println!("loaders of other machines: {loaders}, 0 differences");
    assert!(loaders >= 15, "{loaders}");
}
