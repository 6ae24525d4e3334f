//! Compares `linkaudit demo` with the real tools. The loader agrees about the library before and
//! after the fix, and linkers and `ar` accept the objects and archives. docs/fix.md shows the
//! output.
#![cfg(target_os = "linux")]

use crate::support;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;
use support::Lab;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text in UTF-8")
}

/// A laboratory with the demonstration in `d`, and what it printed.
fn demo() -> (Lab, Output) {
    let lab = Lab::new();
    let output = lab.linkaudit(&["demo", "d"]);
    (lab, output)
}

/// Runs a program in the laboratory; it must succeed without a message on stderr.
fn tool(lab: &Lab, script: &str) -> String {
    let output = lab.sh(script);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && err.is_empty(), "{script}\n{out}{err}");
    out
}

const FIVE: [&str; 5] = [
    "LLVMInitializeX86AsmParser",
    "LLVMInitializeX86AsmPrinter",
    "LLVMInitializeX86Target",
    "LLVMInitializeX86TargetInfo",
    "LLVMInitializeX86TargetMC",
];

#[test]
fn the_loader_says_the_same_before_and_after() {
    let (lab, output) = demo();
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{out}{}", text(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    let five: BTreeSet<String> = FIVE.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(lab.undefined("d/build/lib/libMIOpen.so"), five);
    assert_eq!(lab.undefined("d/after/lib/libMIOpen.so"), BTreeSet::new());
    for name in FIVE {
        assert!(out.contains(&format!("  {name}\n")), "{out}");
    }
    for name in ["AsmParser", "CodeGen", "Desc", "Info"] {
        assert!(out.contains(&format!("add LLVMX86{name} to __mlir_libs\n")), "{out}");
    }
    // The output says what its numbers count.
    for part in [
        "libMIOpen.so (4 causes)\n",
        "\n4 causes, 5 findings (5 errors",
        "\n9 of 9 findings have a verified fix: deps-list-drift 4 of 4, undefined-symbol 5 of 5\n",
    ] {
        assert!(out.contains(part), "{part:?} is not in\n{out}");
    }
    assert!(out.trim_end().ends_with("nothing wrong: 1 ELF file, 1 entry point"), "{out}");
    // The list differs by the four names alone.
    let list = |name: &str| std::fs::read_to_string(lab.path(name)).expect("a list");
    let (old, new) = (list("d/librockcompiler_deps.cmake"), list("d/new_deps.cmake"));
    let kept: String =
        new.split_inclusive('\n').filter(|line| !line.starts_with("LLVMX86")).collect();
    assert_eq!((kept, new.lines().count()), (old.clone(), old.lines().count() + 4));
    println!("demo: 2 libraries, 5 and 0 undefined symbols, 0 differences to ldd -r");
}

#[test]
fn it_is_written_nowhere_twice() {
    let (lab, _) = demo();
    let again = lab.linkaudit(&["demo", "d"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("d: already exists"), "{}", text(&again.stderr));
    assert_eq!(lab.linkaudit(&["demo", "no/such/d"]).status.code(), Some(2));
    assert_eq!(lab.linkaudit(&["demo", "e", "--format", "json"]).status.code(), Some(2));
    assert!(!lab.path("e").exists(), "nothing is written before the options are good");
    // Without a directory name, the demonstration is in the current directory.
    assert_eq!(lab.linkaudit(&["demo"]).status.code(), Some(0));
    assert!(lab.path("linkaudit-demo/after/lib/libMIOpen.so").is_file());
}

#[test]
fn real_tools_take_every_file() {
    let (lab, _) = demo();
    let mut files = 0;
    for dir in ["d/build/lib", "d/llvm/lib", "d/after/lib"] {
        for entry in std::fs::read_dir(lab.path(dir)).expect("a directory") {
            let name = entry.expect("an entry").file_name().into_string().expect("a name");
            let file = format!("{dir}/{name}");
            files += 1;
            if Path::new(&name).extension().is_some_and(|end| end == "so") {
                tool(
                    &lab,
                    &format!("readelf -W -d -s -r -l {file} >out 2>&1; ! grep ^readelf: out"),
                );
                continue;
            }
            tool(&lab, &format!("readelf -W -a {file} >out 2>&1; ! grep ^readelf: out"));
            // The index has the entries that `ranlib` would write.
            let index = |file: &str| tool(&lab, &format!("nm -s {file} | sed '/^$/,$!b;q'"));
            let ours = index(&file);
            tool(&lab, &format!("cp {file} again.a; ranlib again.a"));
            assert_eq!(index("again.a"), ours, "{file}");
        }
    }
    // A real link of the merged archive leaves the same names undefined as the library.
    for (dir, count) in [("build", 5), ("after", 0)] {
        tool(
            &lab,
            &format!("ld -shared -u mlirRockCompile -o {dir}.so d/{dir}/lib/librockCompiler.a"),
        );
        let linked = lab.undefined(&format!("{dir}.so"));
        assert_eq!(linked, lab.undefined(&format!("d/{dir}/lib/libMIOpen.so")));
        assert_eq!(linked.len(), count);
    }
    println!("demo: {files} files and 2 links, 0 differences to readelf, ranlib, ld and ldd -r");
}

#[test]
fn the_script_for_ar_makes_a_whole_archive() {
    let (lab, _) = demo();
    let output = lab.linkaudit(&[
        "fix",
        "d/build/lib/libMIOpen.so",
        "--lib-path",
        "d/build/lib",
        "--lib-path",
        "d/llvm/lib",
        "--emit",
        "mri",
        "-o",
        "mri=new.mri",
        "--archive",
        "d/build/lib/librockCompiler.a",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    tool(&lab, "ar -M <new.mri; ld -shared -u mlirRockCompile -o new.so librockCompiler.fixed.a");
    assert_eq!(lab.undefined("new.so"), BTreeSet::new());
    let members = tool(&lab, "ar t librockCompiler.fixed.a");
    let before = tool(&lab, "ar t d/build/lib/librockCompiler.a");
    assert_eq!(members.lines().count(), before.lines().count() + 6);
}

#[test]
fn the_page_about_fixes_shows_it() {
    let (lab, output) = demo();
    let root = lab.root();
    let here = root.to_str().expect("a path in UTF-8");
    // The directory of the reader is not ours.
    let printed = text(&output.stdout).replace(here, "/tmp");
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/fix.md"));
    let page = page.expect("docs/fix.md");
    let block = page.split("```text\n$ linkaudit demo d\n").nth(1).expect("the demonstration");
    let block = block.split("```").next().expect("its end");
    assert_eq!(block.trim_end(), printed.trim_end(), "{printed}");
}
