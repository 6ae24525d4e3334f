//! References of shared objects to names of the output: those that it does not export, and those
//! that `--wrap` redirects.

use super::kit::{ar, archive, has_linker, object, run, undefined};
use super::libraries::{LINKERS, check, code, shared, theirs};
use crate::support::{Lab, clean};
use std::collections::BTreeSet;

/// lld and GNU ld report a name with restricted visibility to which a shared object refers.
#[test]
fn shared_objects_need_exported_names() {
    let lab = Lab::new();
    code(&lab, "case.o", "_start", "");
    code(&lab, "uses.o", "_start", "f");
    code(&lab, "user.o", "user", "f");
    code(&lab, "f.o", "f", "");
    for visibility in ["hidden", "internal", "protected"] {
        let source = format!(".globl f\n.{visibility} f\nf: nop\n");
        object(&lab, &format!("{visibility}.o"), &source);
    }
    object(&lab, "both.o", ".globl _start, f\n.hidden f\n_start: nop\nf: nop\n");
    object(&lab, "refers.o", ".globl _start\n_start: nop\n.hidden f\n.data\n.quad f\n");
    shared(&lab, "libuser.so", &["user.o"]);
    shared(&lab, "libf.so", &["f.o"]);
    ar(&lab, "rc", "f.a", &["f.o"]);
    ar(&lab, "rc", "hidden.a", &["hidden.o"]);
    check(
        &lab,
        &[
            ("lld", "case.o hidden.o libuser.so", &["f"]),
            ("gnu", "case.o hidden.o libuser.so", &["f"]),
            ("mold", "case.o hidden.o libuser.so", &[]),
            ("lld", "--pie case.o libuser.so hidden.a", &["f"]),
            ("gnu", "--pie case.o libuser.so hidden.a", &["f"]),
            ("lld", "uses.o hidden.a libuser.so", &["f"]),
            ("gnu", "uses.o hidden.a libuser.so", &["f"]),
            ("lld", "case.o internal.o libuser.so", &["f"]),
            ("gnu", "case.o internal.o libuser.so", &["f"]),
            ("all", "case.o protected.o libuser.so", &[]),
            // The visibility of a reference restricts the definition.
            ("lld", "refers.o f.o libuser.so", &["f"]),
            ("gnu", "refers.o libuser.so f.a", &["f"]),
            ("all", "case.o hidden.o libuser.so libf.so", &[]),
            ("all", "--shared hidden.o libuser.so", &[]),
            // GNU ld ignores only names without a definition.
            ("lld", "--allow-shlib-undefined case.o hidden.o libuser.so", &[]),
            ("gnu", "--allow-shlib-undefined case.o hidden.o libuser.so", &["f"]),
            ("all", "--allow-shlib-undefined case.o libuser.so", &[]),
            ("all", "uses.o hidden.a", &[]),
            // The output of lld has no definition, and GNU ld does not report a dropped section.
            ("lld", "--gc-sections case.o hidden.o libuser.so", &["f"]),
            ("gnu", "--gc-sections case.o hidden.o libuser.so", &[]),
            ("lld", "--gc-sections both.o libuser.so", &["f"]),
            ("gnu", "--gc-sections uses.o hidden.a libuser.so", &[]),
        ],
    );
    let output = lab.linkaudit(&["archive", "--linker", "lld", "uses.o", "hidden.a", "libuser.so"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("defined in hidden.a(hidden.o) and hidden from shared objects"),
        "{text}"
    );
}

/// Options may hide a name to which a shared object refers.
#[test]
fn options_may_hide_exported_names() {
    let lab = Lab::new();
    code(&lab, "case.o", "_start", "");
    code(&lab, "uses.o", "_start", "f");
    code(&lab, "user.o", "user", "f");
    code(&lab, "f.o", "f", "");
    lab.write("v", "{ local: *; };\n");
    shared(&lab, "libuser.so", &["user.o"]);
    shared(&lab, "libf.so", &["f.o"]);
    ar(&lab, "rc", "f.a", &["f.o"]);
    for (option, objects) in
        [("--version-script v", "case.o f.o"), ("--exclude-libs ALL", "uses.o f.a")]
    {
        let line = |more: &str| format!("{option} {objects} libuser.so{more}");
        for (program, linker) in LINKERS {
            let is_mold = linker == "mold";
            for (more, is_accepted) in [("", is_mold), (" libf.so", true)] {
                let line = line(more);
                let words: Vec<&str> = line.split(' ').collect();
                let output =
                    lab.linkaudit(&[&["archive", "--linker", linker], &words[..]].concat());
                let error = String::from_utf8_lossy(&output.stderr);
                let status = if is_accepted { 0 } else { 2 };
                assert_eq!(output.status.code(), Some(status), "{linker} {line}: {error}");
                let refusal = format!("error: {option}: may hide symbols");
                assert_eq!(error.contains(&refusal), !is_accepted, "{linker} {line}: {error}");
                if has_linker(program) {
                    let expected: BTreeSet<String> =
                        (!is_accepted).then(|| "f".to_owned()).into_iter().collect();
                    assert_eq!(theirs(&lab, program, &words), expected, "{program} {line}");
                }
            }
        }
    }
}

/// A shared object that refers to NAME and `__real_NAME` is listed once.
#[test]
fn each_shared_object_is_listed_once() {
    let lab = Lab::new();
    code(&lab, "case.o", "_start", "");
    code(&lab, "user.o", "user", "f __real_f");
    object(&lab, "hidden.o", ".globl f\n.hidden f\nf: nop\n");
    shared(&lab, "libuser.so", &["user.o"]);
    let line = ["--linker", "lld", "--wrap=f", "case.o", "hidden.o", "libuser.so"];
    let (answer, _) = archive(&lab.root(), &line);
    let by = answer["undefined"][0]["by"].as_array().expect("referrers");
    assert_eq!(by.len(), 1, "{answer}");
}

/// With `--wrap`, lld lets `__real_NAME` of a shared object refer to NAME if some file has it.
#[test]
fn shared_objects_refer_to_wrapped_names() {
    let lab = Lab::new();
    code(&lab, "case.o", "_start", "");
    code(&lab, "defines.o", "_start foo", "");
    code(&lab, "calls.o", "_start __wrap_foo", "foo");
    code(&lab, "real.o", "real", "__real_foo");
    code(&lab, "foo.o", "foo", "");
    shared(&lab, "libreal.so", &["real.o"]);
    shared(&lab, "libfoo.so", &["foo.o"]);
    ar(&lab, "rc", "foo.a", &["foo.o"]);
    check(
        &lab,
        &[
            ("all", "--wrap=foo defines.o libreal.so", &[]),
            ("lld", "--wrap=foo calls.o libreal.so", &["foo"]),
            ("gnu", "--wrap=foo calls.o libreal.so", &["foo"]),
            ("lld", "--wrap=foo case.o libreal.so", &["__real_foo"]),
            ("gnu", "--wrap=foo case.o libreal.so", &["foo"]),
            ("all", "--wrap=foo calls.o libreal.so libfoo.so", &[]),
            ("all", "--wrap=foo case.o libreal.so libfoo.so", &[]),
            ("all", "--wrap=foo case.o libreal.so foo.a", &[]),
        ],
    );
}

/// Makes the shared object `path`, whose soname is its file name.
fn library(lab: &Lab, path: &str, parts: &[&str]) {
    let soname = path.rsplit('/').next().unwrap_or(path);
    let options = ["-shared", "-soname", soname, "-o", path];
    run(clean("ld").current_dir(lab.root()).args(options).args(parts));
}

/// `libz1.so` needs a `libz2.so`, of which there are three: `d` lacks `z3`, `full` needs a
/// `libz3.so` that lacks `z4`, and `one` lacks nothing.
fn chain() -> Lab {
    let lab = Lab::new();
    for dir in ["d", "full", "one"] {
        lab.mkdir(dir);
    }
    code(&lab, "case.o", "_start", "z1");
    code(&lab, "z1.o", "z1", "z2");
    code(&lab, "z2.o", "z2", "z3");
    code(&lab, "z3.o", "z3", "");
    code(&lab, "z3z4.o", "z3", "z4");
    ar(&lab, "rc", "z3.a", &["z3.o"]);
    library(&lab, "d/libz2.so", &["z2.o"]);
    library(&lab, "one/libz2.so", &["z2.o", "z3.o"]);
    library(&lab, "full/libz3.so", &["z3z4.o"]);
    library(&lab, "full/libz2.so", &["z2.o", "full/libz3.so", "-rpath", "$ORIGIN"]);
    library(&lab, "libz1.so", &["z1.o", "d/libz2.so"]);
    library(&lab, "libz1r.so", &["z1.o", "d/libz2.so", "-rpath", "$ORIGIN/d"]);
    library(&lab, "libz1n.so", &["z1.o"]);
    lab
}

/// GNU ld reads the libraries that the inputs need, and checks their references too.
#[test]
fn libraries_behind_the_inputs() {
    let lab = chain();
    check(
        &lab,
        &[
            // An input has the needed name, and the loader would not find it.
            ("gnu", "case.o libz1.so d/libz2.so", &["z3"]),
            ("all", "case.o libz1.so one/libz2.so", &[]),
            // DT_RUNPATH and options lead to the library.
            ("gnu", "case.o libz1r.so", &["z3"]),
            ("gnu", "case.o libz1.so -rpath-link d", &["z3"]),
            ("gnu", "case.o libz1.so --rpath=one:d", &[]),
            ("gnu", "case.o libz1.so -rpath d -rpath-link one", &[]),
            ("gnu", "case.o libz1r.so -rpath-link one", &[]),
            ("gnu", "case.o libz1.so -R full", &["z4"]),
            // The output defines names, and archives were searched before.
            ("gnu", "case.o libz1r.so z3.o", &[]),
            ("gnu", "case.o libz1r.so z3.a", &["z3"]),
            ("gnu", "case.o libz1r.so -u z3 z3.a", &[]),
            ("gnu", "case.o libz1r.so --defsym=z3=0", &[]),
            ("gnu", "--pie case.o libz1r.so", &["z3"]),
            ("gnu", "--shared case.o libz1r.so", &[]),
            ("gnu", "--allow-shlib-undefined case.o libz1r.so", &[]),
        ],
    );
    for (program, linker) in LINKERS.iter().filter(|(_, linker)| *linker != "gnu") {
        let words = ["case.o", "libz1.so", "-rpath-link", "d"];
        let line = [&["--quiet", "--linker", linker], &words[..]].concat();
        let (answer, status) = archive(&lab.root(), &line);
        assert_eq!(status, Some(0), "{linker}: {answer}");
        assert!(!has_linker(program) || theirs(&lab, program, &words).is_empty(), "{program}");
    }
    let line = ["--linker", "gnu", "case.o", "libz1.so", "-rpath-link", "d"];
    let (answer, _) = archive(&lab.root(), &line);
    assert_eq!(answer["complete"], true, "{answer}");
    let by = answer["undefined"][0]["by"][0]["path"].as_str().expect("a path");
    assert!(by.ends_with("/d/libz2.so"), "{answer}");
}

/// In GNU ld, a library that is no input satisfies the references of shared objects and weak ones of
/// objects. It does not satisfy strong references of objects.
#[test]
fn libraries_behind_the_inputs_satisfy_weak_references() {
    let lab = Lab::new();
    lab.mkdir("d");
    code(&lab, "b.o", "b", "foo");
    code(&lab, "foo.o", "foo", "");
    code(&lab, "calls.o", "_start", "b");
    code(&lab, "strong.o", "_start", "b foo");
    object(&lab, "case.o", ".globl _start\n_start: nop\n.weak foo\n.data\n.quad foo, b\n");
    object(&lab, "weak.o", ".globl weak\nweak: nop\n.weak foo\n.data\n.quad foo\n");
    code(&lab, "more.o", "_start", "b weak");
    ar(&lab, "rc", "weak.a", &["weak.o"]);
    library(&lab, "d/liba.so", &["foo.o"]);
    library(&lab, "libb.so", &["b.o", "d/liba.so"]);
    check(
        &lab,
        &[
            ("all", "case.o libb.so d/liba.so", &[]),
            ("gnu", "case.o libb.so -rpath-link d", &[]),
            ("gnu", "case.o -u foo libb.so -rpath-link d", &[]),
            ("gnu", "calls.o weak.o libb.so -rpath-link d", &[]),
            ("gnu", "more.o libb.so weak.a -rpath-link d", &[]),
            ("gnu", "strong.o libb.so -rpath-link d", &["foo"]),
        ],
    );
}

/// GNU ld takes no definition from a library that it forgets, unless another library needs it.
#[test]
fn forgotten_libraries_define_nothing() {
    let lab = chain();
    check(
        &lab,
        &[
            ("gnu", "case.o --as-needed one/libz2.so libz1n.so", &["z2"]),
            ("gnu", "case.o --no-as-needed one/libz2.so libz1n.so", &[]),
            ("gnu", "case.o --as-needed one/libz2.so libz1.so", &[]),
            ("gnu", "case.o --as-needed d/libz2.so libz1.so", &["z3"]),
            ("lld", "case.o --as-needed one/libz2.so libz1n.so", &[]),
        ],
    );
}

/// If a library is not found, names to which only shared objects refer are unknown: GNU ld has more
/// directories than the loader.
#[test]
fn missing_libraries_leave_names_unknown() {
    let lab = chain();
    let line = ["--linker", "gnu", "case.o", "libz1.so"];
    let (answer, status) = archive(&lab.root(), &line);
    assert_eq!((undefined(&answer).len(), status), (0, Some(3)), "{answer}");
    assert_eq!(answer["unknown"][0]["symbol"], "z2", "{answer}");
    assert_eq!(theirs(&lab, "ld", &line[2..]), BTreeSet::from(["z2".to_owned()]));
    let output = lab.linkaudit(&[&["archive"], &line[..]].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("unknown   z2: no archive is known to define it\n"), "{text}");
    let reason = "    libz2.so may define it: not found, and libz1.so needs it\n\
        help: add the directory of the library: -rpath-link DIR\n";
    assert!(text.contains(reason), "{text}");
    // Some object refers to the name too.
    code(&lab, "both.o", "_start", "z1 z2");
    let (answer, status) = archive(&lab.root(), &["--linker", "gnu", "both.o", "libz1.so"]);
    assert_eq!((undefined(&answer).len(), status), (1, Some(1)), "{answer}");
}

/// Linkers run in the current directory, from which a relative DT_RUNPATH starts. lld and mold do
/// not read it.
#[test]
fn relative_runpath_is_decided() {
    let lab = Lab::new();
    code(&lab, "foo.o", "foo", "");
    code(&lab, "bar.o", "bar", "foo");
    code(&lab, "case.o", "_start", "bar");
    shared(&lab, "libfoo.so", &["foo.o"]);
    let options = ["-shared", "-rpath", ".", "-o", "libbar.so", "bar.o", "libfoo.so"];
    run(clean("ld").current_dir(lab.root()).args(options));
    for line in ["case.o libbar.so libfoo.so", "case.o libbar.so"] {
        check(&lab, &[("all", line, &[])]);
        for (_, linker) in LINKERS {
            let words = [&["--linker", linker], &*line.split(' ').collect::<Vec<_>>()].concat();
            let (answer, code) = archive(&lab.root(), &words);
            assert!(code == Some(0) && answer["complete"] == true, "{linker} {line}: {answer}");
        }
    }
}
