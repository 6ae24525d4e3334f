//! Search paths of hundreds of directories.

use super::kit::{MAIN, compare, exe, lib};
use crate::support::Lab;

/// More directories than one probe batch has.
#[test]
fn long_paths() {
    let build = |lab: &Lab| {
        for name in ["a/libfig.so", "a/libpear.so", "a/libplum.so", "d650/libfig.so"] {
            lib(lab, name, &[]);
        }
        for name in ["d256/libpear.so", "d699/libpear.so"] {
            lib(lab, name, &[]);
        }
        let dirs: Vec<String> = (0..700).map(|i| format!("$PWD/d{i}")).collect();
        let path = format!("-Wl,-rpath,{}", dirs.join(":"));
        let needs = ["-La", "-l:libplum.so", "-l:libfig.so", "-l:libpear.so"];
        exe(lab, "long", MAIN, &[&needs[..], &[&path]].concat());
    };
    let plum = "Error loading shared library libplum.so: No such file";
    let (fig, pear) = ("libfig.so => $PWD/d650/libfig.so", "libpear.so => $PWD/d256/libpear.so");
    compare("long paths", build, &[plum, fig, pear].map(|shows| ("./long", "", "", shows)));
}
