//! Commands of compilers that link, as build systems record them. The undefined names are those
//! that the compiler's link reports.

use super::kit::{ar, archive, object, run, undefined};
use super::libraries::theirs;
use crate::support::{Lab, clean, has, skip};
use std::collections::BTreeSet;

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("m.c", "int f(void);\nint main(void) { return f(); }\n");
    lab.write("f.c", "#include <stdio.h>\nint f(void) { return puts(\"f\"); }\n");
    lab.write("t.c", "int nosuch(void);\nint t(void) { return nosuch(); }\n");
    lab.write(
        "p.cc",
        "#include <string>\n#include <thread>\nint main(int n, char **) {\n\
         std::thread([] {}).join();\nreturn std::to_string(n).size(); }\n",
    );
    lab.write("o.c", "#include <omp.h>\nint main(void) { return omp_get_num_threads(); }\n");
    run(clean("g++").current_dir(lab.root()).args(["-c", "-fPIC", "p.cc"]));
    let sources = ["m.c", "f.c", "t.c", "o.c"];
    run(clean("gcc").current_dir(lab.root()).args(["-c", "-fPIC"]).args(sources));
    object(&lab, "s.o", ".globl _start\n_start: call nosuch\n");
    ar(&lab, "rc", "libf.a", &["f.o", "t.o"]);
    ar(&lab, "rc", "libt.a", &["t.o"]);
    lab.write(
        "sin.c",
        "#include <math.h>\ndouble q = 2;\nint f(void) { return (int)(sin(q) + exp(q)); }\n",
    );
    run(clean("gcc").current_dir(lab.root()).args(["-c", "-fPIC", "-fno-builtin", "sin.c"]));
    ar(&lab, "rc", "libsin.a", &["sin.o"]);
    object(&lab, "bits.o", ".globl bits\nbits: call __popcountdi2@plt\n");
    std::fs::create_dir(lab.path("pre")).expect("a directory");
    ar(&lab, "rc", "pre/libf.a", &["f.o"]);
    run(clean("gcc").current_dir(lab.root()).args(["-shared", "-o", "libg.so", "f.o"]));
    lab
}

/// Skips the test where GCC has other files than on Debian, or where one of `tools` is missing.
fn has_gcc(test: &str, tools: &[&str]) -> bool {
    let is_of_debian = std::path::Path::new("/usr/lib/gcc/x86_64-linux-gnu").is_dir();
    let is_there = is_of_debian && has("g++") && tools.iter().all(|tool| has(tool));
    if !is_there {
        skip(test, &format!("needs the GCC of Debian, {}", tools.join(", ")));
    }
    is_there
}

const COMMANDS: &[&str] = &[
    "gcc m.o f.o",
    "gcc m.o libf.a",
    "gcc m.o -L. -lf",
    "cc -O2 -fPIC -m64 -g -Wall -DX=1 -I . m.o",
    "gcc m.o -Wl,--whole-archive libf.a -Wl,--no-whole-archive -pthread",
    "gcc -wrapper env m.o libf.a",
    "gcc m.o -Xlinker --whole-archive libf.a",
    "gcc m.o -Wl,--whole-archive,libf.a,--no-whole-archive",
    "gcc -static m.o libf.a",
    "gcc m.o libf.a -static -pthread",
    "gcc -static-pie m.o libf.a",
    "gcc -no-pie m.o libf.a",
    "gcc -nostdlib m.o libf.a",
    "gcc -nodefaultlibs m.o libf.a",
    "gcc -nostdlib s.o",
    "gcc -nolibc m.o libf.a",
    "gcc -nostartfiles s.o -u f libf.a",
    "gcc -Bpre m.o -lf",
    "gcc -B pre -nostdlib m.o -lf",
    "gcc -shared f.o t.o",
    "gcc -shared -u t libf.a",
    "gcc -L. -lg m.o",
    "gcc -L. m.o -lg",
    "gcc m.o f.o -Wl,--gc-sections -rdynamic -s",
    "gcc p.o -Wl,--no-demangle",
    "g++ p.o",
    "g++ p.o -static -pthread",
    "g++ p.o -static-libgcc -static-libstdc++",
    "g++ -shared f.o",
    "g++ m.o -L. -Wl,-Bstatic -lsin -lm -Wl,-Bdynamic",
    "g++ m.o -L. -Wl,-Bstatic -lsin -l m -Wl,-Bdynamic -lm",
    "g++ m.o -L. -Wl,-Bstatic -lsin -lm -lc -Wl,-Bdynamic -static-libstdc++",
    "g++ -nodefaultlibs m.o -L. -lsin -lm -lc",
    "g++ -static m.o -Wl,--whole-archive -L. -lsin -lm -Wl,--no-whole-archive",
    "g++ -shared bits.o",
    "gcc -shared bits.o",
    "gcc m.o libt.a -u t -Wl,-q,-v,--verbose,-A,x86-64,-j,2,--emit-relocs",
    "gcc m.o libf.a -Wl,-ox,-h,soname,--output=y,--output,z -Wl,-e,main -Wl,-u,t",
    "gcc o.o",
    "gcc -fopenmp o.o",
    "gcc -fopenmp -fno-openmp o.o",
    "gcc -fopenmp -nodefaultlibs o.o -lc",
    "gcc -ftree-parallelize-loops=4 o.o",
    "gcc -ftree-parallelize-loops=4 -ftree-parallelize-loops=1 o.o",
    "gcc -fuse-ld=lld m.o libt.a -Wl,--defsym=f=nothing",
    "gcc -fuse-ld=lld m.o f.o -Wl,-u,t libt.a",
    "gcc -fuse-ld=lld -L. -lg m.o",
];

#[test]
fn commands_link_what_compilers_link() {
    if !has_gcc("commands_link_what_compilers_link", &["ld.lld"]) {
        return;
    }
    let lab = lab();
    for command in COMMANDS {
        let words: Vec<&str> = command.split(' ').collect();
        let expected = theirs(&lab, words[0], &words[1..]);
        // Options of linkaudit come before the command.
        let output = lab.linkaudit(&[&["archive", "-q", "--format", "json"], &words[..]].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let answer = serde_json::from_slice(&output.stdout);
        let answer = answer.unwrap_or_else(|_| panic!("{command}: {error}"));
        assert_eq!(undefined(&answer), expected, "{command}: {answer}");
        lab.write("link.txt", format!("{command} -o out\n"));
        let (answer, _) = archive(&lab.root(), &["-q", "@link.txt"]);
        assert_eq!(undefined(&answer), expected, "{command}: {answer}");
    }
}

/// What CMake writes for its two generators: a line in `link.txt`, and commands of ninja.
#[test]
fn commands_that_cmake_writes() {
    if !has_gcc("commands_that_cmake_writes", &["cmake", "make", "ninja"]) {
        return;
    }
    let lab = lab();
    lab.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.10)\nproject(x C)\nadd_library(f STATIC f.c t.c)\n\
         add_executable(x m.c)\ntarget_link_libraries(x f -Wl,-u,t)\n\
         set_target_properties(x PROPERTIES BUILD_RPATH \"\\$ORIGIN/a b\")\n",
    );
    for (generator, program) in [("Unix Makefiles", "make"), ("Ninja", "ninja")] {
        let dir = lab.path(program);
        run(clean("cmake").current_dir(lab.root()).args(["-G", generator, "-B"]).arg(&dir));
        // The link of the program fails, because nothing defines `nosuch`.
        let built = clean("cmake").arg("--build").arg(&dir).output().expect("cmake runs");
        assert!(!built.status.success(), "{built:?}");
        let line = match program {
            "ninja" => {
                let commands = run(clean("ninja").current_dir(&dir).args(["-t", "commands", "x"]));
                std::fs::write(dir.join("commands"), commands).expect("a file");
                "@commands"
            }
            _ => "@CMakeFiles/x.dir/link.txt",
        };
        let (answer, _) = archive(&dir, &["-q", line]);
        let expected = BTreeSet::from(["nosuch".to_owned()]);
        assert_eq!(undefined(&answer), expected, "{program}: {answer}");
    }
}

/// Lines of logs and scripts: what a shell prints with `-x`, and what it runs.
#[test]
fn commands_that_shells_run() {
    if !has_gcc("commands_that_shells_run", &[]) {
        return;
    }
    let lab = lab();
    let link = "gcc m.o libf.a -u t -o out";
    let here = lab.root().display().to_string();
    lab.write("script", format!("{link}\n"));
    let shell = clean("sh").current_dir(lab.root()).args(["-x", "script"]).output();
    let log = String::from_utf8_lossy(&shell.expect("sh runs").stderr).into_owned();
    let line = log.lines().next().unwrap_or_default().to_owned();
    assert_eq!(line, format!("+ {link}"), "{log}");
    for text in [
        line,
        format!("cd {here} && {link}"),
        format!("{link} 2>&1 | cat # a comment"),
        format!("env LC_ALL=C {link}; echo"),
    ] {
        let output = lab.sh(&format!("{}; true", text.trim_start_matches("+ ")));
        let text_of_link = [output.stdout, output.stderr].concat();
        assert!(String::from_utf8_lossy(&text_of_link).contains("nosuch"), "{text}");
        lab.write("line", format!("{text}\n"));
        let (answer, _) = archive(&lab.root(), &["-q", "@line"]);
        assert_eq!(undefined(&answer), BTreeSet::from(["nosuch".to_owned()]), "{text}: {answer}");
    }
}

/// What `rustc --print link-args` prints, with the variables of the environment in front.
#[test]
fn the_command_of_rustc() {
    if !has_gcc("the_command_of_rustc", &["rustc"]) {
        return;
    }
    let lab = Lab::new();
    lab.write("m.rs", "fn main() { println!(\"{}\", std::env::args().count()) }\n");
    // `save-temps` keeps the objects that the command names.
    let mut rustc = std::process::Command::new("rustc");
    rustc.current_dir(lab.root()).args(["--print", "link-args", "-C", "save-temps", "m.rs"]);
    lab.write("args", run(&mut rustc));
    let (answer, status) = archive(&lab.root(), &["-q", "@args"]);
    assert_eq!((undefined(&answer), status), (BTreeSet::new(), Some(0)), "{answer}");
}

/// The kind of the output, by the start files of the line that `gcc -###` prints.
#[test]
fn kinds_of_outputs() {
    if !has_gcc("kinds_of_outputs", &[]) {
        return;
    }
    let lab = lab();
    let kinds = [
        (" rcrt1.o crtbeginS.o", "a static position-independent program"),
        (" Scrt1.o crtbeginS.o", "a position-independent program"),
        (" crt1.o crtbeginT.o", "a static program"),
        (" crt1.o crtbegin.o", "a program at a fixed address"),
        (" crtbeginS.o", "a shared object"),
    ];
    let options = ["", "-static", "-shared", "-static-pie", "-pie", "-no-pie"];
    let options = options.map(|one| options.map(|other| options.map(|last| [one, other, last])));
    for words in options.into_iter().flatten().flatten() {
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let output = lab.linkaudit(&[&["archive", "gcc", "m.o", "f.o"], &words[..]].concat());
        let note = String::from_utf8_lossy(&output.stderr).into_owned();
        if note.contains("-static: not followed") {
            continue;
        }
        let mut gcc = clean("gcc");
        let line = gcc.current_dir(lab.root()).args(["-###", "m.o", "f.o"]).args(&words).output();
        let line = String::from_utf8_lossy(&line.expect("gcc runs").stderr).into_owned();
        let files = line.split(['/', ' ', '\n']).filter(|word| {
            (word.ends_with("crt1.o") || word.starts_with("crtbegin")) && word.ends_with(".o")
        });
        let files: String = files.flat_map(|file| [" ", file]).collect();
        let kind = kinds.iter().find(|(known, _)| *known == files);
        let (_, kind) = kind.unwrap_or_else(|| panic!("{words:?}: {line}"));
        assert!(note.contains(&format!("gcc links {kind},")), "{words:?}: {note}");
    }
}

/// GNU ld finds libraries below `/usr/local`, other linkers do not.
#[test]
fn libraries_below_usr_local() {
    if !has_gcc("libraries_below_usr_local", &["ld.lld", "unshare"]) {
        return;
    }
    let can_mount = clean("unshare").args(["-rm", "true"]).status();
    if !can_mount.is_ok_and(|status| status.success()) {
        return skip("libraries_below_usr_local", "no directory can be mounted");
    }
    let lab = lab();
    std::fs::create_dir(lab.path("local")).expect("a directory");
    ar(&lab, "rc", "local/libloc.a", &["f.o"]);
    let program = env!("CARGO_BIN_EXE_linkaudit");
    for (option, is_there) in [("", true), ("-fuse-ld=lld", false)] {
        let link = format!("gcc {option} m.o -lloc");
        for command in
            [format!("{link} -o out"), format!("{program} archive --isolated --sandbox off {link}")]
        {
            let script = format!("mount --bind local /usr/local/lib && {command}");
            let mut shell = clean("unshare");
            let shell = shell.current_dir(lab.root()).args(["-rm", "sh", "-c", &script]);
            let output = shell.output().expect("unshare runs");
            assert_eq!(output.status.success(), is_there, "{command}: {output:?}");
        }
    }
}

#[test]
fn what_is_assumed_about_compilers() {
    if !has_gcc("what_is_assumed_about_compilers", &[]) {
        return;
    }
    let lab = lab();
    let output = lab.linkaudit(&["archive", "g++", "-o", "out", "m.o", "f.o"]);
    let note = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = "assumed: g++ links a position-independent program, and adds the start files \
                    and libraries of /usr/lib/gcc/x86_64-linux-gnu/";
    assert!(note.contains(expected), "{note}");
    assert!(note.contains("to it; LIBRARY_PATH is not set"), "{note}");
    assert_eq!(note.matches("assumed: ").count(), 1, "{note}");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// GCC searches the directories of LIBRARY_PATH, and those below GCC_EXEC_PREFIX.
#[test]
fn variables_with_directories_of_libraries() {
    if !has_gcc("variables_with_directories_of_libraries", &[]) {
        return;
    }
    let lab = lab();
    let link = "gcc m.o -lf -u t -o out";
    for (before, is_found) in [("", false), ("LIBRARY_PATH=pre", true), ("LIBRARY_PATH=", true)] {
        let line = format!("{before} {link}");
        let linked = lab.sh(&format!("{line}; true"));
        let error = String::from_utf8_lossy(&linked.stderr).into_owned();
        assert_eq!(error.contains("cannot find -lf"), !is_found, "{line}: {error}");
    }
    for before in
        ["LIBRARY_PATH=pre", "LIBRARY_PATH=", "GCC_EXEC_PREFIX=pre/", "export LIBRARY_PATH=pre &&"]
    {
        lab.write("line", format!("{before} {link}\n"));
        let error =
            refused(&lab, "@line", before.trim_matches([' ', '&']).trim_start_matches("export "));
        assert!(error.contains("is not followed\nhelp: add -### "), "{error}");
    }
    lab.write("line", "COMPILER_PATH=/x gcc m.o libf.a -o out\n");
    let (answer, _) = archive(&lab.root(), &["-q", "@line"]);
    assert_eq!(undefined(&answer), BTreeSet::new(), "{answer}");
}

/// With `--root`, the compiler's files are those of the sysroot, which a GCC that starts there
/// takes.
#[test]
fn compilers_of_a_sysroot() {
    let lab = lab();
    let (dir, libs) = ("root/usr/lib/gcc/x86_64-linux-gnu/99", "root/usr/lib/x86_64-linux-gnu");
    for dir in [dir, libs, "root/src"] {
        std::fs::create_dir_all(lab.path(dir)).expect("a directory");
    }
    for name in ["Scrt1.o", "crti.o", "crtn.o"] {
        object(&lab, &format!("{libs}/{name}"), "nop\n");
    }
    for name in ["crtbeginS.o", "crtendS.o"] {
        object(&lab, &format!("{dir}/{name}"), "nop\n");
    }
    object(&lab, "own.o", ".globl only_there\nonly_there: ret\n");
    object(&lab, "root/src/a.o", ".globl main\nmain: call only_there\ncall nosuch\n");
    object(&lab, "nothing.o", "nop\n");
    ar(&lab, "rc", &format!("{dir}/libgcc.a"), &["own.o"]);
    ar(&lab, "rc", &format!("{libs}/libc.a"), &["nothing.o"]);
    ar(&lab, "rc", &format!("{libs}/libgcc_s.a"), &["nothing.o"]);
    for link in [["gcc", "root/src/a.o"], ["gcc", "/src/a.o"]] {
        let root = lab.path("root").display().to_string();
        for options in [vec!["--root", "root"], vec!["--root", &root]] {
            let output =
                lab.linkaudit(&[&["archive", "--format", "json"], &*options, &link].concat());
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            let answer: serde_json::Value =
                serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"));
            assert!(error.contains("of /usr/lib/gcc/x86_64-linux-gnu/99 to it"), "{error}");
            assert_eq!(undefined(&answer), BTreeSet::from(["nosuch".to_owned()]), "{answer}");
        }
    }
    let output = lab.linkaudit(&["archive", "--root", "root", "gcc", "-Bx", "/src/a.o"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.starts_with("error: -Bx: not followed with --root\nhelp: "), "{error}");
    std::fs::remove_file(lab.path(&format!("{libs}/crti.o"))).expect("a file");
    let output = lab.linkaudit(&["archive", "--root", "root", "gcc", "/src/a.o"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.starts_with("error: crti.o, which the compiler adds, is not found"), "{error}");
}

/// The error of a command that is refused. It starts with `begin`.
fn refused(lab: &Lab, command: &str, begin: &str) -> String {
    let words: Vec<&str> = command.split(' ').collect();
    let output = lab.linkaudit(&[&["archive"], &words[..]].concat());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.starts_with(&format!("error: {begin}")), "{command}: {error}");
    assert_eq!(output.status.code(), Some(2), "{command}: {error}");
    error
}

/// Options of the linker with the names of options of linkaudit.
#[test]
fn linker_options_that_are_refused() {
    let lab = lab();
    for (option, begin) in [
        ("--format=binary,m.c,--format=elf64-x86-64", "--format=binary: the format of the next"),
        ("--format,binary,m.c", "--format binary: the format of the next"),
        ("-W,x", "-W: this option of the linker is not known"),
        ("--why-not", "--why-not: this option of the linker is not known"),
        ("--root,x", "--root: this option of the linker is not known"),
    ] {
        refused(&lab, &format!("gcc m.o f.o -Wl,{option}"), begin);
    }
}

/// In the line of a linker, options are those of the linker, even if linkaudit has them too.
#[test]
fn lines_of_linkers_have_no_options_of_linkaudit() {
    let lab = lab();
    let run = |line: &str| {
        lab.write("line", line.as_bytes());
        let output = lab.linkaudit(&["archive", "--linker", "gnu", "-v", "@line"]);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (status, plain, error) = run("/usr/bin/ld -o x m.o f.o\n");
    assert!(matches!(status, Some(0 | 1)), "{error}");
    for options in ["-q", "-v", "--verbose", "-A x86-64"] {
        let (with, text, error) = run(&format!("/usr/bin/ld {options} -o x m.o f.o\n"));
        assert_eq!((with, &text), (status, &plain), "{options}: {error}");
    }
    let (status, _, error) = run("/usr/bin/ld --format=binary m.o f.o\n");
    assert!(error.starts_with("error: --format=binary: the format of the next"), "{error}");
    assert_eq!(status, Some(2), "{error}");
}

/// What cannot be followed is an error that names the next step.
#[test]
fn commands_that_are_refused() {
    let lab = lab();
    for (command, begin) in [
        ("gcc m.c", "m.c: a source file"),
        ("gcc -fsanitize=address m.o", "-fsanitize=address: its effect"),
        ("gcc --sysroot=/x m.o", "--sysroot=/x: its effect"),
        ("gcc -m32 m.o", "-m32: its effect"),
        ("gfortran m.o", "gfortran: the files that it adds to each link are not known"),
        ("/opt/bin/mpicc m.o", "/opt/bin/mpicc: the files that it adds"),
        ("gcc -static -static-pie m.o", "-static-pie -static: not followed"),
        ("gcc -shared -static m.o", "-shared -static: not followed"),
        ("clang -fopenmp m.o", "-fopenmp: its effect"),
        ("clang -fopenmp=libomp m.o", "-fopenmp=libomp: its effect"),
        ("gcc -fuse-ld=gold m.o", "-fuse-ld=gold: its effect"),
        ("nosuch-linux-gnu-gcc m.o", "nosuch-linux-gnu-gcc: the files that it adds"),
        ("gcc-1.2 m.o", "gcc-1.2: the files that it adds"),
    ] {
        let error = refused(&lab, command, begin);
        assert!(error.contains("\nhelp: add -### "), "{command}: {error}");
    }
}
