//! A short notation for the link options of a file, and tables of cases.
//!
//! Flags are words. `soname=`, `rpath=`, `runpath=`, `map=` (a version script) and `z=` stand for
//! linker options; the compiler gets any other word. A blank inside a word is written `%20`.

use crate::support::Lab;

/// A table of cases: functions of the type `kit::Build`, each with its name.
#[allow(unused_macros, reason = "not every test binary has tables of cases")]
macro_rules! cases {
    ($($case:ident),+ $(,)?) => { &[$((stringify!($case), $case as super::kit::Build)),+] };
}
#[allow(unused_imports, reason = "the same")]
pub(crate) use cases;

/// Builds a shared object.
pub(crate) fn so(lab: &Lab, out: &str, source: &str, flags: &str) {
    let flags = expand(flags);
    lab.so(out, source, &flags.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Builds a program.
pub(crate) fn exe(lab: &Lab, out: &str, source: &str, flags: &str) {
    let flags = expand(flags);
    lab.exe(out, source, &flags.iter().map(String::as_str).collect::<Vec<_>>());
}

fn expand(flags: &str) -> Vec<String> {
    let mut out = vec!["-Wl,--no-as-needed,--allow-shlib-undefined".to_owned()];
    for word in flags.split_whitespace() {
        let word = word.replace("%20", " ");
        match word.split_once('=') {
            Some(("soname", name)) => out.extend(pass(&["-soname", name])),
            Some(("rpath", dirs)) => out.extend(pass(&["--disable-new-dtags", "-rpath", dirs])),
            Some(("runpath", dirs)) => out.extend(pass(&["--enable-new-dtags", "-rpath", dirs])),
            Some(("map", file)) => out.extend(pass(&["--version-script", file])),
            Some(("z", keyword)) => out.extend(pass(&["-z", keyword])),
            _ => out.push(word),
        }
    }
    out
}

fn pass(options: &[&str]) -> Vec<String> {
    options.iter().flat_map(|option| ["-Xlinker".to_owned(), (*option).to_owned()]).collect()
}
