//! Ids of causes do not depend on the directories of the tree and the policies.

use super::kit::{findings, report, run, text};
use crate::support::Lab;
use serde_json::Value;
use std::collections::BTreeSet;

const FORBIDS: &str =
    "[forbid]\nlibraries = [{ name = \"libplain.so\" }]\nsymbols = [{ symbol = \"ours\" }]\n";

/// `DIR` has a damaged library, undefined symbols with a provider and without, and two things that
/// a policy forbids.
fn prefix(lab: &Lab, dir: &str) {
    lab.so(&format!("{dir}/lib/libprovider.so"), "int provided(void) { return 1; }", &[]);
    lab.so(&format!("{dir}/lib/libplain.so"), "int plain(void) { return 1; }", &[]);
    let source = "int provided(void); int gone(void); int plain(void); \
                  int ours(void) { return provided() + gone() + plain(); }";
    let need = format!("$PWD/{dir}/lib/libplain.so");
    lab.so(&format!("{dir}/lib/liba.so"), source, &["-Wl,-rpath,$ORIGIN", &need]);
    let bytes = std::fs::read(lab.path(&format!("{dir}/lib/libplain.so"))).expect("a library");
    lab.write(&format!("{dir}/lib/libtorn.so"), &bytes[..bytes.len() / 4]);
}

/// The ids of all causes, without those of single findings.
fn ids(report: &Value) -> BTreeSet<&str> {
    let ids = findings(report).iter().map(|finding| text(&finding["cause"]));
    ids.filter(|id| !id.starts_with("finding:")).collect()
}

#[test]
fn ids_do_not_depend_on_places() {
    let lab = Lab::new();
    prefix(&lab, "one");
    prefix(&lab, "far/away/two");
    lab.write("a.toml", format!("schema = 1\n{FORBIDS}"));
    lab.write("far/b.toml", format!("# Further down.\n\nschema = 1\n{FORBIDS}"));
    let one = report(&lab, &["one", "--policy", "a.toml"]);
    let two = report(&lab, &["far/away/two", "--policy", "far/b.toml"]);
    let expected = [
        "damaged-file:lib/libtorn.so",
        "policy-entry:forbid.libraries libplain.so",
        "policy-entry:forbid.symbols ours",
        "provider-not-linked:lib/libprovider.so",
        "provider-not-linked:unknown lib/liba.so",
    ];
    assert_eq!(ids(&one), BTreeSet::from(expected));
    assert_eq!(ids(&two), ids(&one));
    // Two files are two causes, even if their ids would be equal. Both trees have the first
    // provider.
    let both = report(&lab, &["one", "far/away/two", "--policy", "a.toml"]);
    let of_files = |id: &&str| !id.starts_with("policy-entry:");
    let first: BTreeSet<String> =
        ids(&one).into_iter().filter(of_files).map(str::to_owned).collect();
    let is_own = |id: &&String| !id.ends_with("/libprovider.so");
    let second = first.iter().filter(is_own).map(|id| format!("{id}#2"));
    let expected: BTreeSet<String> = first.iter().cloned().chain(second).collect();
    let found: BTreeSet<String> =
        ids(&both).into_iter().filter(of_files).map(str::to_owned).collect();
    assert_eq!(found, expected);
}

/// One repair, one cause: the library that defines all symbols of the plugin. The others define a
/// function of a common name, and come first by their paths.
#[test]
fn the_cause_is_the_library_with_most_of_the_symbols() {
    let lab = Lab::new();
    let copy = "char *xstrdup(char *a) { return a; }";
    for at in 0..6 {
        lab.so(&format!("lib/libcopy{at}.so"), copy, &[]);
    }
    let all = format!("int one(void) {{ return 1; }} int two(void) {{ return 2; }} {copy}");
    lab.so("lib/slurm/libslurmfull.so", &all, &[]);
    let source = "int one(void), two(void); char *xstrdup(char *); \
                  int go(void) { return one() + two() + *xstrdup(\"a\"); }";
    lab.so("lib/slurm/plug.so", source, &[]);
    let found = report(&lab, &["lib"]);
    let causes = found["causes"].as_array().expect("causes");
    let titles: Vec<&str> = causes.iter().map(|cause| text(&cause["title"])).collect();
    assert_eq!(titles, ["libslurmfull.so: not linked"]);
    assert_eq!(causes[0]["findings"], 3);
    let shown = run(&lab, &["lib"]).out;
    assert!(shown.contains("link slurm/plug.so with slurm/libslurmfull.so"), "{shown}");
}
