//! A conda root: its package cache has hard links and copies of installed files, and files of
//! packages that are not installed. Nothing is started there.

use super::{audit, broken, found_broken};
use crate::support::{self, Lab};

#[test]
fn a_package_cache_is_no_part_of_a_root() {
    let lab = Lab::new();
    let cached = "root/pkgs/foo-1.0-0/lib/libfoo.so";
    for dir in ["root/conda-meta", "root/lib", "root/pkgs/foo-1.0-0/info"] {
        lab.mkdir(dir);
    }
    broken(&lab, cached);
    let script = "patchelf --set-rpath '$ORIGIN/.' root/pkgs/foo-1.0-0/lib/libfoo.so; \
                  ln root/pkgs/foo-1.0-0/lib/libfoo.so root/lib/libfoo.so; \
                  cp -r root/pkgs/foo-1.0-0 root/pkgs/foo-0.9-0";
    assert!(lab.sh(&format!("set -e; {script}")).status.success());
    let installed = lab.path("root/lib/libfoo.so");
    let old = lab.path("root/pkgs/foo-0.9-0/lib/libfoo.so");
    // Without the marks of conda, these are directories like any other.
    assert_eq!(found_broken(&audit(&lab, "root")), [installed.clone(), old.clone()]);
    for package in ["foo-1.0-0", "foo-0.9-0"] {
        lab.mkdir(&format!("root/pkgs/{package}/info"));
        lab.write(&format!("root/pkgs/{package}/info/index.json"), "{}");
    }
    let report = audit(&lab, "root");
    assert_eq!(found_broken(&report), [installed]);
    assert_eq!(report.skipped("in a package cache of conda"), 2);
    assert_eq!((report.total("elf"), report.total("roots")), (1, 1));
    let text = support::linkaudit().current_dir(lab.root()).args(["root", "--isolated"]).output();
    let text = String::from_utf8(text.expect("linkaudit runs").stdout).expect("UTF-8");
    assert!(text.contains("\n2 packages of a conda cache skipped: "), "{text}");
    // A given cache is audited, also beside its root.
    for given in [&["root/pkgs"][..], &["root/pkgs/foo-0.9-0"], &["root", "root/pkgs"]] {
        let mut command = support::linkaudit();
        let report = super::Report::of(command.current_dir(lab.root()).arg("check").args(given));
        assert!(found_broken(&report).contains(&old), "{given:?}: {}", report.outline());
        assert_eq!(report.skipped("in a package cache of conda"), 0, "{given:?}");
    }
}
