//! Published files of other systems: npm packages for Android, the BSDs and illumos, and Guile's
//! compiled files from a Debian package.

use super::debian::{Debian, unpack};
use super::report::{Report, text};
use crate::support::{self, Lab, clean, skip};
use serde_json::json;

/// A package, the file in it, the key of its kind, and the answer by name.
const NPM: &[(&str, &str, &str, &str)] = &[
    (
        "@napi-rs/nice-android-arm64@1.1.1",
        "nice.android-arm64.node",
        "android",
        "an Android library",
    ),
    ("@napi-rs/nice-freebsd-x64@1.1.1", "nice.freebsd-x64.node", "freebsd", "a FreeBSD library"),
    ("@esbuild/netbsd-x64@0.28.2", "bin/esbuild", "netbsd", "a NetBSD program"),
    ("@esbuild/openbsd-x64@0.28.2", "bin/esbuild", "openbsd", "an OpenBSD program"),
    ("@esbuild/sunos-x64@0.28.2", "bin/esbuild", "solaris", "a Solaris program"),
];

#[test]
fn npm_packages() {
    for (package, file, kind, answer) in NPM {
        let lab = Lab::new();
        if let Err(reason) = fetch(&lab, package) {
            return skip("foreign_npm_packages", &reason);
        }
        let report = Report::of(support::linkaudit().arg(lab.path("package")));
        assert_eq!(report.status, 0, "{package}: {}", report.outline());
        assert_eq!(report.value["totals"]["foreign"], json!({ *kind: 1 }), "{package}");
        let report = Report::of(support::linkaudit().arg(lab.path("package").join(file)));
        assert_eq!(report.status, 3, "{package}: {}", report.outline());
        let messages: Vec<&str> = report.findings().map(|f| text(&f["message"])).collect();
        assert_eq!(messages, [format!("{answer}: its loader's rules are not known")]);
    }
    println!("foreign: {} npm packages", NPM.len());
}

#[test]
fn compiled_files_of_guile() {
    let lab = Lab::new();
    let fetched = Debian::new("bookworm", "amd64").and_then(|debian| {
        let files = debian.fetch(&["guile-3.0-libs"])?;
        let is_guile = |path: &&std::path::PathBuf| path.to_string_lossy().contains("/guile-");
        let files: Vec<_> = files.iter().filter(is_guile).cloned().collect();
        unpack(&files, &lab.path("root"))
    });
    if let Err(reason) = fetched {
        return skip("foreign_guile", &reason);
    }
    let ccache = lab.path("root/usr/lib/x86_64-linux-gnu/guile/3.0/ccache");
    let report = Report::of(support::linkaudit().arg(&ccache));
    let files = report.value["totals"]["foreign"]["standalone"].as_u64().unwrap_or(0);
    assert!(files > 300, "{}", report.value["totals"]);
    assert_eq!((report.status, report.total("audited")), (0, 0), "{}", report.outline());
    let report = Report::of(support::linkaudit().arg(ccache.join("oop/goops.go")));
    assert_eq!(report.status, 3, "{}", report.outline());
    println!("foreign: {files} compiled files of Guile");
}

fn fetch(lab: &Lab, package: &str) -> Result<(), String> {
    let mut npm = clean("npm");
    npm.current_dir(lab.root()).args(["pack", "--silent", "--no-update-notifier", package]);
    let output = npm.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("{package}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let unpacked = lab.sh("tar -xzf *.tgz");
    unpacked.status.success().then_some(()).ok_or_else(|| format!("{package}: tar fails"))
}
