//! `linkaudit diff` of library packages of two Debian releases. Its lost and changed symbols and
//! sonames, and with the sides exchanged its new ones, must be those of abidiff and readelf. Then
//! dependents of the old library run with the new one. The loader of their release must miss
//! exactly the symbols that `diff --against` reports as lost.
//!
//! `LINKAUDIT_PAIRS` is the number of pairs of `PAIRS`.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod consequences;
mod oracle;

use crate::support;
use crate::support::debian::{self, Debian};
use crate::support::random::number;

use oracle::{Export, Library, Moved};
use rayon::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use support::{Lab, skip};

const OLD: &str = "bookworm";
const NEW: &str = "trixie";

/// abidiff compares each lost symbol with each new one: 10,000 of both take it minutes, 40,000
/// hours.
const MOST_FOR_ABIDIFF: usize = 10_000;

/// A package of each release with the same library, and packages of the old release that use it.
struct Pair {
    old: &'static str,
    new: &'static str,
    users: &'static [&'static str],
}

const fn pair(old: &'static str, new: &'static str, users: &'static [&'static str]) -> Pair {
    Pair { old, new, users }
}

/// The first three are those of CI: nothing lost, a changed soname, and symbols in use that are
/// gone.
const PAIRS: &[Pair] = &[
    pair("libssl3", "libssl3t64", &["openssl"]),
    pair("libavutil57", "libavutil59", &["libswscale6"]),
    pair("libqt5core5a", "libqt5core5t64", &["libqt5xml5", "libqt5sql5", "libqt5network5"]),
    pair("libprotobuf32", "libprotobuf32t64", &["protobuf-compiler"]),
    pair("libxml2", "libxml2", &["libxml2-utils", "xsltproc"]),
    pair("libboost-filesystem1.74.0", "libboost-filesystem1.83.0", &["ledger"]),
    pair("libicu72", "libicu76", &["icu-devtools"]),
    pair("libavcodec59", "libavcodec61", &["libavformat59"]),
    pair("libpoppler126", "libpoppler147", &["poppler-utils"]),
    pair("libc6", "libc6", &["coreutils", "git", "gdb"]),
    pair("libstdc++6", "libstdc++6", &["ninja-build", "gperf", "cmake"]),
    pair("libllvm14", "libllvm19", &["llvm-14"]),
    pair("libqt6core6", "libqt6core6t64", &["libqt6xml6", "libqt6network6"]),
    pair("libglib2.0-0", "libglib2.0-0t64", &["libglib2.0-bin", "libjson-glib-1.0-0"]),
    pair("libcurl4", "libcurl4t64", &["curl"]),
    pair("libgnutls30", "libgnutls30t64", &["gnutls-bin", "libcurl3-gnutls"]),
    pair("libsqlite3-0", "libsqlite3-0", &["proj-bin"]),
    pair("libpng16-16", "libpng16-16t64", &["libpng-tools", "libfreetype6"]),
    pair("libtiff6", "libtiff6", &["libtiff-tools"]),
    pair("libexpat1", "libexpat1", &["expat", "libdbus-1-3"]),
    pair("libgcrypt20", "libgcrypt20", &["libgcrypt20-dev", "gpg"]),
    pair("libnettle8", "libnettle8t64", &["gnutls-bin"]),
    pair("libpython3.11", "libpython3.13", &["gdb"]),
    pair("libldap-2.5-0", "libldap2", &["ldap-utils"]),
    pair("libabsl20220623", "libabsl20240722", &["libgrpc++1.51"]),
    pair("zlib1g", "zlib1g", &["git", "libpng-tools"]),
    pair("libfmt9", "libfmt10", &["libspdlog1.10"]),
    pair("libgdal32", "libgdal36", &[]),
    pair("libgtk-3-0", "libgtk-3-0t64", &[]),
];

fn pairs() -> &'static [Pair] {
    let wanted = usize::try_from(number("LINKAUDIT_PAIRS", 3)).unwrap_or(usize::MAX);
    &PAIRS[..PAIRS.len().min(wanted)]
}

/// Downloads the packages of one name; skips the test under `name` if apt cannot.
fn fetched<T>(name: &str, get: impl FnOnce() -> Result<T, String>) -> Option<T> {
    get().map_err(|reason| skip(name, &reason)).ok()
}

/// The result for one library: `name@version` of the symbols that are gone or have another version,
/// those with other data or another binding, and the new soname.
#[derive(Default, Debug, PartialEq, Eq)]
struct Said {
    lost: BTreeSet<String>,
    /// Those of the lost symbols that have no default version any more.
    hidden: BTreeSet<String>,
    data: BTreeSet<String>,
    soname: Option<String>,
    /// The comparison lists no more symbols.
    is_cut: bool,
}

/// True for a symbol that changed its type, size, binding or visibility.
fn is_data(symbol: &Value) -> bool {
    let reason = symbol["reason"].as_str().unwrap_or_default();
    let of_binding =
        ["global before", "weak before", "unique before", "protected", "not protected"];
    reason.contains(" bytes before")
        || reason.starts_with("a ")
        || reason.contains("data before")
        || of_binding.iter().any(|start| reason.starts_with(start))
}

/// Runs `linkaudit diff` and sorts its findings by the file name of the library in the old side.
fn said(old: &Path, new: &Path, libraries: &BTreeMap<String, Library>) -> BTreeMap<String, Said> {
    let mut command = support::linkaudit();
    command.args(["diff", "--isolated", "--format", "json"]).args([old, new]);
    let output = command.output().expect("linkaudit runs");
    let value: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let mut out: BTreeMap<String, Said> = BTreeMap::new();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for finding in value["findings"].as_array().expect("findings") {
        let rule = word(&finding["rule"]);
        if !["removed-symbol", "changed-symbol", "changed-soname"].contains(&&*rule) {
            continue;
        }
        let path = word(&finding["path"]);
        let Some((stem, _)) = libraries.iter().find(|(_, library)| library.is_at(&path)) else {
            continue;
        };
        let own = out.entry(stem.clone()).or_default();
        if rule == "changed-soname" {
            own.soname = Some(word(&finding["detail"]));
        }
        let evidence = finding["evidence"].as_array().expect("evidence");
        own.is_cut |= evidence.len() >= 10_000;
        for symbol in evidence.iter().filter(|evidence| evidence["symbol"].is_string()) {
            let name = format!("{}@{}", word(&symbol["symbol"]), word(&symbol["version"]));
            if is_data(symbol) {
                own.data.insert(name)
            } else {
                own.lost.insert(name)
            };
        }
    }
    out
}

/// Counts of one direction of one pair.
#[derive(Default)]
struct Counts {
    libraries: usize,
    symbols: usize,
    lost: usize,
    data: usize,
    explained: BTreeMap<&'static str, usize>,
    wrong: Vec<String>,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.libraries += other.libraries;
        self.symbols += other.symbols;
        self.lost += other.lost;
        self.data += other.data;
        for (why, count) in other.explained {
            *self.explained.entry(why).or_default() += count;
        }
        self.wrong.extend(other.wrong);
    }
}

/// Names that one list has and the other does not, sorted.
fn only(a: &BTreeSet<String>, b: &BTreeSet<String>) -> Vec<String> {
    a.difference(b).cloned().collect()
}

/// Removes the names for which `is` is true, and counts them.
fn explain(names: &mut Vec<String>, is: impl Fn(&str) -> bool) -> usize {
    let before = names.len();
    names.retain(|name| !is(name));
    before - names.len()
}

/// Compares the results for each library that both sides have with readelf and abidiff.
fn compare(old: &Path, new: &Path) -> Counts {
    let (before, now) = (oracle::libraries(old), oracle::libraries(new));
    let both: BTreeMap<String, Library> = before
        .into_iter()
        .filter_map(|(stem, mut library)| {
            // Findings about changed symbols name the new file, all others the old one.
            library.others.push(now.get(&stem)?.path.clone());
            Some((stem, library))
        })
        .collect();
    let mut said = said(old, new, &both);
    let mut counts = Counts::default();
    for (stem, library) in &both {
        let ours = said.remove(stem).unwrap_or_default();
        counts.add(one(stem, library, &now, &ours));
    }
    counts
}

fn one(stem: &str, library: &Library, now: &BTreeMap<String, Library>, ours: &Said) -> Counts {
    let other = &now[stem];
    let moved = Moved::new(now, other);
    let (old, new) = (oracle::exports(&library.path), oracle::exports(&other.path));
    let theirs = oracle::readelf(&old, &new, &moved);
    let soname = (library.soname != other.soname).then(|| other.soname.clone());
    let mut counts = Counts {
        libraries: 1,
        symbols: old.len(),
        lost: ours.lost.len(),
        data: ours.data.len(),
        ..Counts::default()
    };
    let mut differ = |what: &str, [more, less]: [Vec<String>; 2]| {
        if more.is_empty() && less.is_empty() {
            return;
        }
        let few = [&more, &less].map(|names| &names[..names.len().min(5)]);
        let (more, less) = (more.len(), less.len());
        let text = format!("{stem}, {what}: {more} only ours, {less} missed, such as {few:?}");
        counts.wrong.push(text);
    };
    let missed =
        |theirs: &Said| if ours.is_cut { Vec::new() } else { only(&theirs.lost, &ours.lost) };
    differ("readelf", [only(&ours.lost, &theirs.lost), missed(&theirs)]);
    differ("readelf, data", [only(&ours.data, &theirs.data), only(&theirs.data, &ours.data)]);
    if ours.soname != soname {
        differ("soname", [ours.soname.iter().cloned().collect(), Vec::new()]);
    }
    let mut explained = Vec::new();
    if theirs.lost.len() > MOST_FOR_ABIDIFF {
        explained.push(("libraries that take it hours, held against readelf alone", 1));
    } else {
        let abi = oracle::abidiff(&library.path, &other.path);
        let untyped: BTreeSet<String> =
            old.iter().filter(|export| export.kind == "NOTYPE").map(Export::versioned).collect();
        let (mut more, mut less) = (only(&ours.lost, &abi.lost), missed(&abi));
        let default: BTreeSet<&str> = new.iter().map(|export| &*export.name).collect();
        let is_versioned =
            |name: &str| name.strip_suffix('@').is_some_and(|name| default.contains(name));
        let versioned = explain(&mut more, is_versioned);
        explained.push(("symbols that got a version, which it takes for the same", versioned));
        let hidden = explain(&mut more, |name| theirs.hidden.contains(name));
        explained.push(("symbols without a default version, which it takes for the same", hidden));
        let untyped = explain(&mut more, |name| untyped.contains(name));
        explained.push(("symbols without type, which it does not list", untyped));
        let moved = explain(&mut less, |name| moved.has(name));
        explained.push(("symbols that moved to a library which the new one needs", moved));
        differ("abidiff", [more, less]);
        if abi.soname != soname {
            differ("soname of abidiff", [abi.soname.into_iter().collect(), Vec::new()]);
        }
    }
    if ours.is_cut {
        explained.push(("libraries of which the first 10,000 symbols are listed", 1));
    }
    counts.explained.extend(explained);
    counts
}

/// Both directions of one pair: the lost symbols, and with the sides exchanged the new ones.
fn both_ways(pair: &Pair, old: &[PathBuf], new: &[PathBuf]) -> Counts {
    let lab = Lab::new();
    let [before, now]: [PathBuf; 2] = [lab.path("old"), lab.path("new")];
    debian::unpack(old, &before).expect("a package that unpacks");
    debian::unpack(new, &now).expect("a package that unpacks");
    let mut total = Counts::default();
    for (way, old, new) in [("gone", &before, &now), ("new", &now, &before)] {
        let counts = compare(old, new);
        println!(
            "{} {}: {} libraries, {} symbols, {} {way}, {} with other data or binding, {} differences",
            pair.old,
            pair.new,
            counts.libraries,
            counts.symbols,
            counts.lost,
            counts.data,
            counts.wrong.len()
        );
        assert!(counts.libraries > 0, "{}: no library", pair.old);
        total.add(counts);
    }
    total
}

#[test]
fn lost_and_new_symbols_equal_those_of_abidiff_and_readelf() {
    if !support::has("abidiff") {
        return skip("pairs", "abidiff is not there");
    }
    let releases = || Ok((Debian::new(OLD, "amd64")?, Debian::new(NEW, "amd64")?));
    let Some((bookworm, trixie)) = fetched("pairs", releases) else { return };
    let mut all = Vec::new();
    for pair in pairs() {
        let get = || Ok((bookworm.download(&[pair.old])?, trixie.download(&[pair.new])?));
        let Some((old, new)) = fetched("pairs", get) else { return };
        all.push((pair, old, new));
    }
    let mut total = Counts::default();
    let counts: Vec<Counts> =
        all.par_iter().map(|(pair, old, new)| both_ways(pair, old, new)).collect();
    for counts in counts {
        total.add(counts);
    }
    for (why, count) in &total.explained {
        println!("explained differences from abidiff: {count} {why}");
    }
    println!(
        "debian pairs: {} packages, {} symbols both ways, {} lost or new, {} differences",
        pairs().len(),
        total.symbols,
        total.lost,
        total.wrong.len()
    );
    assert!(total.wrong.is_empty(), "{}", total.wrong.join("\n"));
    assert!(total.lost > 100, "{} symbols", total.lost);
}
