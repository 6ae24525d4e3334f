//! The package of the archive that a finding lacks, and the alternative: a build without the
//! members that refer to it. The linker accepts that build, and no name stays undefined.

use super::kit::{archive, fix, object, text, three, tool};
use super::support::{Lab, linkaudit};
use std::collections::BTreeSet;
use std::ffi::OsStr;

/// A library that lacks an archive of an installed package.
fn lacking() -> Lab {
    let lab = Lab::new();
    object(
        &lab,
        "user.o",
        "void LLVMInitializeX86TargetInfo(void);\n\
        void user(void) { LLVMInitializeX86TargetInfo(); }",
    );
    lab.mkdir("r/opt");
    lab.mkdir("r/usr/lib/llvm-9/lib/cmake/llvm");
    lab.link("usr/lib", "r/lib");
    tool(&lab, "cc -shared -nostdlib -o r/opt/libuser.so user.o");
    lab.write("r/usr/lib/llvm-9/lib/libLLVMX86Info.a", "!<arch>\n");
    lab.write(
        "r/usr/lib/llvm-9/lib/cmake/llvm/LLVMExports.cmake",
        "set_property(TARGET x)\nset_target_properties(LLVMX86Info PROPERTIES\n  IMPORTED_LOCATION \
         \"${_IMPORT_PREFIX}/lib/libLLVMX86Info.a\")\n",
    );
    lab.write("r/usr/lib/llvm-9/lib/cmake/llvm/LLVMConfig.cmake", "");
    let list = "/usr/lib/llvm-9/lib/libLLVMX86Info.a\n";
    lab.write("r/var/lib/dpkg/info/llvm-9-dev:amd64.list", list);
    lab
}

fn run(lab: &Lab, args: &[&str]) -> String {
    let mut command = linkaudit();
    command.current_dir(lab.root()).args(args).args(["--isolated", "--root", "r", "/opt"]);
    let words = text(&command.output().expect("linkaudit runs").stdout);
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn packages_of_an_archive_that_is_not_read() {
    let lab = lacking();
    let package = "/usr/lib/llvm-9/lib (package llvm-9-dev, CMake package LLVM): libLLVMX86Info.a";
    let said = run(&lab, &["fix"]);
    assert!(said.contains(&format!("installed: {package}")), "{said}");
    assert!(said.contains("--lib-path DIR"), "{said}");
    // A report for people is the same on every machine; `-v` has the packages.
    assert!(!run(&lab, &["check"]).contains("llvm-9-dev"));
    let said = run(&lab, &["check", "-v"]);
    assert!(said.contains(&format!("installed {package}")), "{said}");
    // The evidence changes nothing else, and a package whose file is gone is named too.
    let json = |lab: &Lab| -> serde_json::Value {
        let mut command = linkaudit();
        command.current_dir(lab.root()).args(["--isolated", "--root", "r", "/opt"]);
        let output = command.args(["--format", "json"]).output().expect("linkaudit runs");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let with = json(&lab);
    let evidence = with["findings"][0]["evidence"].as_array().expect("evidence");
    let found: Vec<_> = evidence.iter().filter(|one| one["how"] == "installed").collect();
    assert_eq!(found.len(), 1, "{with}");
    assert_eq!(found[0]["cmake"]["target"], "LLVMX86Info");
    assert_eq!(found[0]["package"], "llvm-9-dev");
    std::fs::remove_file(lab.path("r/usr/lib/llvm-9/lib/libLLVMX86Info.a")).expect("a file");
    assert!(run(&lab, &["fix"]).contains("removed: /usr/lib/llvm-9/lib (package llvm-9-dev"));
    std::fs::remove_dir_all(lab.path("r/var")).expect("a directory");
    let mut bare = json(&lab);
    let mut with = with;
    for report in [&mut bare, &mut with] {
        for finding in report["findings"].as_array_mut().into_iter().flatten() {
            if let Some(evidence) = finding["evidence"].as_array_mut() {
                evidence.retain(|one| one["how"] != "installed");
            }
        }
    }
    assert_eq!(bare, with);
}

/// An archive that was read is not named as unread, even if the fix is not verified.
#[test]
fn archives_that_are_read_are_not_suggested() {
    let lab = lacking();
    object(&lab, "info.o", "void more(void); void LLVMInitializeX86TargetInfo(void) { more(); }");
    object(&lab, "more.o", "void gone(void); void more(void) { gone(); }");
    object(&lab, "part.o", "int part(void) { return 1; }");
    archive(&lab, OsStr::new("r/usr/lib/llvm-19/lib/libLLVMX86Info.a"), &["info.o"]);
    archive(&lab, OsStr::new("r/usr/lib/llvm-19/lib/libmore.a"), &["more.o"]);
    archive(&lab, OsStr::new("r/opt/libpart.a"), &["part.o"]);
    lab.write("r/usr/lib/llvm-9/lib/libmore.a", "!<arch>\n");
    let list = "/usr/lib/llvm-9/lib/libmore.a\n";
    lab.write("r/var/lib/dpkg/info/llvm-9-dev:amd64.list", list);
    lab.write("deps.cmake", "set(L part)\n");
    let dirs = ["--lib-path", "/usr/lib/llvm-19/lib", "--lib-path", "/opt"];
    let said = run(&lab, &[&["fix", "--deps-list", "deps.cmake"], &dirs[..]].concat());
    assert!(said.contains("not verified: gone, referenced by the added members"), "{said}");
    assert!(said.contains("add more to L"), "{said}");
    assert!(!said.contains("installed:") && !said.contains("not read"), "{said}");
}

#[test]
fn the_members_that_may_be_left_out() {
    let lab = three();
    let run = fix(&lab, &["--deps-list", "deps.cmake"]);
    let said = text(&run.stdout);
    assert!(said.contains("add one to parts\n"), "{said}");
    let way = "or stop building the members that refer to them: user.o of libuser.a\n";
    assert!(said.contains(way), "{said}");
    // In words of `check`, too.
    let args = ["check", "own/libuser.so", "--lib-path", "own", "--lib-path", "parts"];
    let check = text(&lab.linkaudit(&args).stdout);
    let check = check.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        check.contains("stop building the members that refer to it: user.o of libuser.a"),
        "{check}"
    );
    // The linker: without that member nothing is undefined.
    assert_eq!(lab.undefined("own/libuser.so"), BTreeSet::from(["one".to_owned()]));
    tool(&lab, "ar d own/libfat.a user.o && cc -shared -o own/libuser.so -Wl,-u,base own/libfat.a");
    assert!(lab.undefined("own/libuser.so").is_empty());
}

/// A directory of archives has members that refer to the symbol and were never linked. `nm` knows
/// the members that are in the library.
#[test]
fn only_linked_members_are_named() {
    let lab = Lab::new();
    object(&lab, "mine.o", "int x(void); int mine(void) { return x(); }");
    object(&lab, "option.o", "int x(void); int option(void) { return x(); }");
    object(&lab, "x.o", "int x(void) { return 1; }");
    archive(&lab, OsStr::new("parts/liboption.a"), &["option.o"]);
    archive(&lab, OsStr::new("parts/libx.a"), &["x.o"]);
    tool(&lab, "cc -shared -o libmine.so mine.o");
    let exported = tool(&lab, "nm -D --defined-only libmine.so");
    assert!(exported.contains(" mine") && !exported.contains(" option"), "{exported}");
    let said = |command: &str| {
        text(&lab.linkaudit(&[command, "libmine.so", "--lib-path", "parts"]).stdout)
    };
    for command in ["check", "fix"] {
        let said = said(command);
        assert!(said.contains("libx.a") && !said.contains("option.o"), "{said}");
        assert!(!said.contains("stop building"), "{said}");
    }
    archive(&lab, OsStr::new("parts/libreal.a"), &["mine.o"]);
    let check = said("check");
    assert!(check.contains("used by    libreal.a(mine.o)"), "{check}");
    let fix = said("fix");
    assert!(fix.contains("or stop building the members that refer to them: mine.o of libreal.a"));
    assert!(!check.contains("option.o") && !fix.contains("option.o"), "{check}{fix}");
}
