//! Each fix is verified on its own: another fix that leaves references undefined does not affect
//! it.

use super::kit::{archive, object, text, tool};
use super::linkable::verified;
use crate::support::Lab;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;

/// The exit status, and for every undefined symbol with fixes: true if all are verified, or the
/// unknown fact.
fn proofs(lab: &Lab, args: &[&str]) -> (Option<i32>, BTreeMap<String, Result<(), String>>) {
    let run = lab.linkaudit(&[&["fix"], args, &["--format", "json"]].concat());
    let report: Value = serde_json::from_slice(&run.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}{}", text(&run.stdout), text(&run.stderr));
    });
    let findings = report["findings"].as_array().expect("findings").iter();
    let undefined = findings.filter(|finding| finding["rule"] == "undefined-symbol");
    let proof = |finding: &Value| {
        let symbol = finding["symbol"].as_str().expect("a symbol").to_owned();
        let fixes = finding["fix"].as_array().expect("fixes");
        assert!(!fixes.is_empty(), "{finding:#}");
        let doubt = fixes.iter().find(|fix| fix["proven"] != true);
        (symbol, doubt.map_or(Ok(()), |fix| Err(fix["unknown"].to_string())))
    };
    (run.status.code(), undefined.map(proof).collect())
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_library_that_cannot_be_repaired_does_not_touch_another() {
    let lab = Lab::new();
    let mut policy = String::from("schema = 1\n");
    for (name, needs) in [("left", "return 1;"), ("right", "int gone(void); return gone();")] {
        object(
            &lab,
            &format!("{name}.o"),
            &format!("int {name}y(void); int {name}(void) {{ return {name}y(); }}"),
        );
        object(&lab, &format!("{name}y.o"), &format!("int {name}y(void) {{ {needs} }}"));
        object(&lab, &format!("{name}base.o"), &format!("int {name}base(void) {{ return 1; }}"));
        let (user, base) = (format!("{name}.o"), format!("{name}base.o"));
        for (file, members) in [
            (format!("own/lib{name}.a"), vec![&*user]),
            (format!("parts/lib{name}base.a"), vec![&*base]),
            (format!("parts/lib{name}y.a"), vec![&*format!("{name}y.o")]),
            (format!("own/libfat{name}.a"), vec![&*user, &*base]),
        ] {
            archive(&lab, OsStr::new(&file), &members);
        }
        lab.write(
            &format!("{name}.cmake"),
            format!("set(parts\n{name}base\n)\nset(own\n{name}\n)\n"),
        );
        tool(&lab, &format!("cc -shared -o own/lib{name}.so -Wl,-u,{name} own/libfat{name}.a"));
        policy +=
            &format!("[[archive]]\nmatch = \"**/libfat{name}.a\"\ndeps-list = \"{name}.cmake\"\n");
    }
    lab.write("policy.toml", policy);
    let both = ["own/libleft.so", "own/libright.so", "--lib-path", "own", "--lib-path", "parts"];
    let gone = "gone, referenced by the added members, would be undefined";
    let expected = BTreeMap::from([
        ("lefty".to_owned(), Ok(())),
        ("righty".to_owned(), Err(format!("{gone:?}"))),
    ]);
    for more in [&[][..], &["--policy", "policy.toml"]] {
        assert_eq!(proofs(&lab, &[&both, more].concat()), (Some(1), expected.clone()), "{more:?}");
    }
    // With its own list, each fix has the same result as without it, while the other library is in
    // the run.
    for (list, archive) in
        [("left.cmake", "own/libfatleft.a"), ("right.cmake", "own/libfatright.a")]
    {
        let list = ["--deps-list", list, "--archive", archive];
        assert_eq!(proofs(&lab, &[&both[..], &list].concat()).1, expected, "{list:?}");
    }
    // The linker and the loader have the same results.
    for (name, expected) in [("left", set(&[])), ("right", set(&["gone"]))] {
        tool(
            &lab,
            &format!("cc -shared -o new.so -Wl,-u,{name} own/libfat{name}.a parts/lib{name}y.a"),
        );
        assert_eq!(lab.undefined("new.so"), expected, "{name}");
    }
}

/// `odd` takes a member that refers to `help`. Under `bin/a`, a library defines `help`. Only
/// resolving and binding under `bin/b` shows that no library defines `help` there.
#[test]
fn a_fix_that_opens_something_under_one_program_is_doubtful_alone() {
    let lab = Lab::new();
    // It refers to a function of the program, so its link allows undefined names.
    let user =
        "int good(void), odd(void), host(void); int user(void) { return good() + odd() + host(); }";
    object(&lab, "user.o", user);
    object(&lab, "other.o", "int fine(void); int other(void) { return fine(); }");
    object(&lab, "good.o", "int good(void) { return 1; }");
    object(&lab, "odd.o", "int help(void); int odd(void) { return help(); }");
    object(&lab, "fine.o", "int fine(void) { return 2; }");
    for name in ["good", "odd", "fine"] {
        archive(&lab, OsStr::new(&format!("parts/lib{name}.a")), &[&format!("{name}.o")]);
    }
    lab.so("lib/libhelp.so", "int help(void) { return 3; }", &[]);
    tool(&lab, "cc -shared -o lib/libuser.so user.o; cc -shared -o lib/libother.so other.o");
    let flags = ["-Wl,--no-as-needed", "-Llib", "-luser", "-lother", "-Wl,-rpath,$ORIGIN/../lib"];
    let program = "int host(void) { return 0; } int main(void) { return 0; }";
    lab.exe("bin/a", program, &[&flags[..], &["-lhelp"]].concat());
    lab.exe("bin/b", program, &flags);
    let (status, found) = proofs(&lab, &["bin/a", "bin/b", "--lib-path", "parts"]);
    assert_eq!(status, Some(1));
    let expected = BTreeMap::from([
        ("fine".to_owned(), Ok(())),
        ("good".to_owned(), Ok(())),
        ("odd".to_owned(), Err(format!("{:?}", "help would be undefined with the fix"))),
    ]);
    assert_eq!(found, expected);
    let summary = text(&lab.linkaudit(&["fix", "bin/a", "bin/b", "--lib-path", "parts"]).stdout);
    assert!(summary.contains("2 of 3 findings have a verified fix"), "{summary}");
    // The linker applies each fix, and the loader checks the result.
    tool(&lab, "cc -shared -o lib/libother.so other.o parts/libfine.a");
    for (fix, a, b) in [
        ("", &["good", "odd"][..], &["good", "odd"][..]),
        ("parts/libgood.a", &["odd"], &["odd"]),
        ("parts/libodd.a", &["good"], &["good", "help"]),
    ] {
        tool(&lab, &format!("cc -shared -o lib/libuser.so user.o {fix}"));
        assert_eq!((lab.undefined("bin/a"), lab.undefined("bin/b")), (set(a), set(b)), "{fix}");
    }
}

/// 64 members refer to `help`, which only `bin/a` loads; the last member is good. The good fix is
/// not verified alone, because the limit is reached before.
#[test]
fn beyond_the_limit_no_fix_is_blamed_alone() {
    let lab = Lab::new();
    let odd: Vec<String> = (100..164).map(|at| format!("odd{at}")).collect();
    let mut user = String::from("void zgood(void);\n");
    for name in &odd {
        user += &format!("void {name}(void);\n");
        lab.write(
            &format!("{name}.c"),
            format!("void help(void); void {name}(void) {{ help(); }}"),
        );
    }
    // It refers to a function of the program, so its link allows undefined names.
    user += &format!("void host(void);\nvoid *user[] = {{ {}, zgood, host }};\n", odd.join(", "));
    lab.write("zgood.c", "void zgood(void) {}");
    tool(&lab, "cc -c -fPIC odd*.c zgood.c; mkdir parts; ar rcs parts/libodd.a odd*.o zgood.o");
    lab.so("lib/libhelp.so", "void help(void) {}", &[]);
    lab.so("lib/libuser.so", &user, &[]);
    let flags = ["-Wl,--no-as-needed", "-Llib", "-luser", "-Wl,-rpath,$ORIGIN/../lib"];
    let program = "void host(void) {} int main(void) { return 0; }";
    lab.exe("bin/a", program, &[&flags[..], &["-lhelp"]].concat());
    lab.exe("bin/b", program, &flags);
    let (status, found) = proofs(&lab, &["bin/a", "bin/b", "--lib-path", "parts"]);
    assert_eq!((status, found.len()), (Some(1), 65));
    let alone = format!("{:?}", "help would be undefined with the fix");
    assert_eq!(found["odd100"], Err(alone));
    let doubt = "help would be undefined with this fix or one of 8 others: the limit of 100 \
                 verifications is reached";
    assert_eq!(found["zgood"], Err(format!("{doubt:?}")));
}

/// A member that defines the wanted name, and a name that is defined already.
#[test]
fn what_no_linker_takes_is_not_proven() {
    let lab = Lab::new();
    object(&lab, "user.o", "int g(void), k(void); int user(void) { return g() + k(); }");
    object(&lab, "again.o", "int h(void) { return 1; }");
    object(&lab, "weak.o", "__attribute__((weak)) int h(void) { return 1; }");
    // A new link does not have such a version.
    object(&lab, "old.o", "__asm__(\".symver old, h@V1\"); int old(void) { return 1; }");
    lab.write("map", b"V1 { nothing; };");
    object(&lab, "g.o", "int g(void) { return 2; } int h(void) { return 3; }");
    object(&lab, "k.o", "int k(void) { return 4; }");
    object(&lab, "both.o", "int k(void) { return 4; } int h(void) { return 5; }");
    let mut cases = 0;
    for (own, k, open) in [
        ("again", "k", 1),
        ("weak", "k", 0),
        ("old", "k", 0),
        ("", "both", 2),
        ("again", "both", 2),
        ("", "k", 0),
    ] {
        tool(&lab, "rm -rf parts");
        archive(&lab, OsStr::new("parts/libg.a"), &["g.o"]);
        archive(&lab, OsStr::new("parts/libk.a"), &[&format!("{k}.o")]);
        let own = match own {
            "" => String::new(),
            "old" => "old.o -Wl,--version-script=map".to_owned(),
            own => format!("{own}.o"),
        };
        tool(&lab, &format!("cc -shared -o libuser.so user.o {own}"));
        let (status, found) = proofs(&lab, &["libuser.so", "--lib-path", "parts"]);
        let doubts: Vec<&String> =
            found.values().filter_map(|proof| proof.as_ref().err()).collect();
        assert_eq!(
            (doubts.len(), status),
            (open, Some(i32::from(open > 0))),
            "{own} {k}: {found:?}"
        );
        assert!(doubts.iter().all(|doubt| doubt.contains("no linker accepts both")), "{doubts:?}");
        let link = lab.sh(&format!("cc -shared -o new.so user.o {own} parts/libg.a parts/libk.a"));
        assert_eq!(link.status.success(), open == 0, "{own} {k}: {}", text(&link.stderr));
        cases += 1;
    }
    println!("fixes that do not link: {cases} cases, 0 differences from ld");
}

/// Compilers add libgcc to every link.
#[test]
fn functions_of_libgcc() {
    let lab = Lab::new();
    lab.write("lib.c", "int foo(int); int f(int x) { return foo(x); }\n");
    tool(&lab, "cc -fPIC -c lib.c; cc -shared lib.o -o lib.so");
    let mut links = 0;
    for source in [
        "int foo(int x) { return __builtin_popcountll(x); }",
        "int foo(int x) { __int128 a = x; a *= a; return (int)(a / (x + (__int128)7)); }",
        "#include <complex.h>\nint foo(int x) { _Complex double a = x; return (int)(a * a); }",
    ] {
        lab.write("foo.c", source);
        tool(&lab, "cc -O0 -fPIC -c foo.c");
        archive(&lab, OsStr::new("parts/libfoo.a"), &["foo.o"]);
        let (is_verified, doubts) = verified(&lab, "lib.so");
        assert!(is_verified, "{source}: {doubts}");
        tool(&lab, "cc -shared -Wl,-z,defs -o new.so lib.o parts/libfoo.a");
        assert!(lab.undefined("new.so").is_empty(), "{source}");
        links += 1;
    }
    println!("libgcc: {links} verified fixes, {links} links, 0 undefined");
}
