//! Fixes that seem to help, because the needed file exists, but the loader takes another one. The
//! real loader decides: a program that fails after the fix must not have a verified fix.

use super::kit::{text, tool};
use crate::support::{Lab, has, skip};
use serde_json::Value;

/// The fixes of all findings of a rule: the entry of each, and true if it is verified.
fn fixes(lab: &Lab, rule: &str) -> Vec<(String, bool)> {
    let out = lab.linkaudit(&["fix", "tree", "--isolated", "--format", "json"]);
    let report: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("findings").iter();
    let of_rule = findings.filter(|finding| finding["rule"] == rule);
    let fixes = of_rule.flat_map(|finding| finding["fix"].as_array().into_iter().flatten());
    let entry = |fix: &Value| fix["entry"].as_str().unwrap_or_default().to_owned();
    fixes.map(|fix| (entry(fix), fix["proven"] == true)).collect()
}

/// The program is already linked with `new/libfoo.so.1`, and the loader finds `old/libfoo.so.1`
/// first.
#[test]
fn a_library_behind_another_of_its_soname() {
    let lab = Lab::new();
    let soname = ["-Wl,-soname,libfoo.so.1"];
    lab.so("tree/old/libfoo.so.1", "int x(void) { return 3; }", &soname);
    let both = "int x(void) { return 3; } int y(void) { return 1; }";
    lab.so("tree/new/libfoo.so.1", both, &soname);
    let library = lab.path("tree/new/libfoo.so.1").display().to_string();
    let source = "int x(void), y(void); int main(void) { return x() + y() - 4; }";
    let search = "-Wl,-rpath,$ORIGIN/old:$ORIGIN/new";
    lab.exe("tree/p", source, &[&library, search]);
    tool(&lab, "! tree/p 2>/dev/null");
    let found = fixes(&lab, "undefined-symbol");
    assert!(found.iter().all(|(_, proven)| !proven), "{found:?}");
    let said = text(&lab.linkaudit(&["fix", "tree", "--isolated"]).stdout);
    assert!(said.contains("the loader takes another file for libfoo.so.1"), "{said}");
}

/// A library in a directory that is not searched can still be linked, with a search path to it.
#[test]
fn a_library_that_no_need_has_yet() {
    let lab = Lab::new();
    lab.so("tree/lib/libfoo.so.1", "int y(void) { return 1; }", &["-Wl,-soname,libfoo.so.1"]);
    lab.so("tree/libu.so", "int y(void); int u(void) { return y(); }", &[]);
    let found = fixes(&lab, "undefined-symbol");
    assert!(found.iter().all(|(_, proven)| *proven) && !found.is_empty(), "{found:?}");
}

/// The loader itself adds `glibc-hwcaps/x86-64-v3` on processors that have it. On others, the
/// program must not load that file.
#[test]
fn a_directory_for_some_processors_is_no_search_path() {
    let lab = Lab::new();
    let place = "tree/lib/glibc-hwcaps/x86-64-v3/liba.so.1";
    lab.so(place, "int x(void) { return 3; }", &["-Wl,-soname,liba.so.1"]);
    let library = lab.path(place).display().to_string();
    lab.exe("tree/bin/p", "int x(void); int main(void) { return x(); }", &[&library]);
    let found = fixes(&lab, "missing-library");
    assert!(found.iter().all(|(entry, _)| entry == "$ORIGIN/../lib"), "{found:?}");
    assert!(!found.is_empty());
}

/// The search path of a set-ID program is absolute. In a copy of the tree, it would name the
/// audited one.
#[test]
fn an_absolute_entry_belongs_to_the_audited_prefix() {
    if !has("patchelf") {
        return skip(
            "an_absolute_entry_belongs_to_the_audited_prefix",
            "patchelf is not installed",
        );
    }
    let lab = Lab::new();
    lab.so("tree/lib/liba.so.1", "int a(void) { return 3; }", &["-Wl,-soname,liba.so.1"]);
    let library = lab.path("tree/lib/liba.so.1").display().to_string();
    lab.exe("tree/bin/p", "int a(void); int main(void) { return a() - 3; }", &[&library]);
    tool(&lab, "chmod u+s tree/bin/p; cp -a tree copy");
    lab.linkaudit(&["fix", "tree", "--isolated", "-o", "patchelf=fix.sh"]);
    tool(&lab, "! sh fix.sh copy 2>said; grep -q 'refused: the search path of bin/p names' said");
    tool(&lab, "cmp tree/bin/p copy/bin/p; sh fix.sh; tree/bin/p");
    tool(&lab, "ln -s tree link; sh fix.sh link/ | grep -q unchanged");
}
