//! Compares the answers of musl's loader and linkaudit.

use linkaudit::plan::{LoaderRules, Plan};

use super::musl;
pub(crate) use super::musl::{LOADER, exe, so};
use super::queries;
use crate::support::{Lab, Tally, clean, normalise};

/// A file, LD_LIBRARY_PATH, LD_PRELOAD, and a text that the real answer must contain.
pub(crate) type Asked = (&'static str, &'static str, &'static str, &'static str);

/// A library without libc that defines the function of its name.
pub(crate) fn lib(lab: &Lab, out: &str, flags: &[&str]) {
    let stem = out.rsplit('/').next().unwrap_or(out).trim_start_matches("lib");
    let stem = stem.split('.').next().unwrap_or(stem);
    so(lab, out, &format!("int {stem}(void){{return 1;}}"), flags);
}

pub(crate) const MAIN: &str = "int main(void){return 0;}";

pub(crate) fn compare(theme: &str, build: fn(&Lab), asked: &[Asked]) {
    if !musl::is_there(&format!("musl cases: {theme}")) {
        return;
    }
    let lab = Lab::new();
    build(&lab);
    let mut tally = Tally::default();
    let mut broken = Vec::new();
    let mut compared = queries::Compared::default();
    for (file, library_path, preload, shows) in asked {
        let here = lab.root();
        let here = here.to_str().expect("a path in UTF-8");
        let (path, preload) = (library_path.replace("$PWD", here), preload.replace("$PWD", here));
        let mut loader = clean(LOADER);
        loader.env("LD_LIBRARY_PATH", &path).env("LD_PRELOAD", &preload);
        let script = "exec \"$0\" --list \"$1\" 2>&1";
        let mut sh = clean("sh");
        sh.args(["-c", script, LOADER, file]).current_dir(lab.root());
        let theirs = if preload.is_empty() && path.is_empty() {
            sh.output()
        } else {
            // The variables must not affect the shell itself.
            loader.current_dir(lab.root()).args(["--list", file]).output()
        };
        let theirs = theirs.expect("musl's loader runs");
        let theirs = [theirs.stdout, theirs.stderr].concat();
        let theirs = distinct(&normalise(&String::from_utf8_lossy(&theirs)));
        if !theirs.contains(&shows.replace("$PWD", here)) {
            broken.push(format!("{file}: the loader does not say {shows:?}\n{theirs}"));
        }
        let words = ["--ld-library-path", &path, "--ld-preload", &preload, "--loader", "musl"];
        let output = lab.linkaudit(&[&words[..], &["--as-ldd", "--format", "ldd", file]].concat());
        let plan = Plan {
            loader: Some(LoaderRules::Musl),
            ld_library_path: path.clone().into_bytes(),
            ld_preload: preload.clone().into_bytes(),
            ..queries::plan(vec![lab.root().join(file)], &lab.root())
        };
        compared.add(queries::compare(&plan));
        let case = format!("{file} LD_LIBRARY_PATH={library_path} LD_PRELOAD={preload}");
        tally.compare(&case, &String::from_utf8_lossy(&output.stdout), &theirs);
    }
    assert!(broken.is_empty(), "{theme}: cases that miss their rule\n{}", broken.join("\n"));
    tally.finish(&format!("musl cases: {theme}"));
    compared.finish(&format!("musl cases: {theme}"));
}

/// The text with each line once, at its first place.
pub(crate) fn distinct(text: &str) -> String {
    let mut seen = std::collections::BTreeSet::new();
    let lines: Vec<&str> = text.lines().filter(|line| seen.insert(*line)).collect();
    format!("{}\n", lines.join("\n"))
}
