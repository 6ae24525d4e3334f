//! Small source packages of Debian with a `configure` script, which are built, staged with `make
//! install DESTDIR=` and audited. The oracle is the loader of a system in which dpkg installed the
//! package.
//!
//! `LINKAUDIT_SOURCES=N` builds N packages; the next one replaces a package that cannot be fetched
//! or built.

use super::debian::Debian;
use super::debian_packages::elf_files;
use super::installed::Case;
use super::random::number;
use super::report::Report;
use super::system::{bare, has_chroot, ldconfig, sh, traced};
use crate::support::{Lab, Tally, clean, linkaudit, skip};
use std::path::Path;

const PACKAGES: [&str; 13] = [
    "popt",
    "attr",
    "check",
    "gdbm",
    "hello",
    "libcap-ng",
    "libedit",
    "libev",
    "libffi",
    "libtasn1-6",
    "pcre2",
    "xz-utils",
    "zlib",
];

/// Builds the package and installs it into `stage`. Tools that regenerate the build system are
/// replaced, because patches may make them seem necessary.
fn build(source: &Path, stage: &Path) -> Result<(), String> {
    let no_tools = "ACLOCAL=: AUTOCONF=: AUTOHEADER=: AUTOMAKE=: MAKEINFO=true";
    let script = format!(
        "./configure --prefix=/usr --libdir=/usr/lib/x86_64-linux-gnu && make -j2 {no_tools} && \
         make install {no_tools} DESTDIR=\"$1\""
    );
    let mut command = clean("sh");
    command.current_dir(source).args(["-c", &script, "sh"]).arg(stage);
    let output = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = text.lines().rev().take(3).collect();
    if output.status.success() { Ok(()) } else { Err(last.join("; ")) }
}

/// A copy of the system with the stage as a package that dpkg installed.
fn install(lab: &Lab, package: &str) -> std::path::PathBuf {
    let control = format!(
        "Package: staged-{package}\nVersion: 1\nArchitecture: amd64\nMaintainer: a test <a@b>\n\
         Description: a staged package\n"
    );
    sh(lab, "cp -a c/root c/whole && cp -a c/stage0 package && mkdir package/DEBIAN");
    lab.write("package/DEBIAN/control", control);
    let dpkg = "c/whole/var/lib/dpkg";
    sh(lab, &format!("mkdir -p {dpkg}/info {dpkg}/updates {dpkg}/triggers && touch {dpkg}/status"));
    sh(
        lab,
        "dpkg-deb -b package package.deb && dpkg --root=\"$PWD/c/whole\" --force-all -i package.deb",
    );
    let whole = lab.path("c/whole");
    ldconfig(&whole);
    whole
}

#[test]
fn packages_built_from_source() {
    if !has_chroot() {
        return skip("staged", "needs root for chroot");
    }
    let debian = match Debian::sources("bookworm") {
        Ok(debian) => debian,
        Err(reason) => return skip("staged: sources", &reason),
    };
    let count = usize::try_from(number("LINKAUDIT_SOURCES", 1)).expect("a count");
    let (mut tally, mut built, mut findings) = (Tally::default(), 0, 0);
    for package in PACKAGES {
        if built == count {
            break;
        }
        let lab = Lab::new();
        let stage = lab.mkdir("c/stage0");
        let source = debian.source(package, &lab.mkdir("source"));
        if let Err(reason) = source.and_then(|source| build(&source, &stage)) {
            println!("{package} is not built: {reason}");
            continue;
        }
        built += 1;
        let root = bare(&lab, "c/root");
        ldconfig(&root);
        let whole = install(&lab, package);
        let files = elf_files(&stage);
        let case = Case { dir: "c".to_owned(), stages: 1, caches: true, files };
        lab.write("c/replaces", "");
        let mut ours = case.ours(&lab);
        for file in &case.files {
            let own = ours.remove(file).unwrap_or_default();
            tally.compare(&format!("{package}: {file}"), &own, &traced(&whole, file));
        }
        let mut command = linkaudit();
        command.current_dir(lab.path("c")).args(["--isolated", "--root", "root"]);
        let report = Report::of(command.args(["--staged", "stage0"]));
        findings += report.findings().count();
        println!("{package}: {} files; {}", case.files.len(), report.outline().replace('\n', "; "));
    }
    println!("{built} packages built from source, {findings} findings");
    assert_eq!(built, count.min(PACKAGES.len()), "packages built");
    tally.finish("packages built from source");
}
