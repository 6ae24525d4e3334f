//! `linkaudit gpu`: its list, its matrix at two widths, its JSON, `--target`, `--deep` and exit
//! status.

use super::kit::{Run, run};
use crate::support::{self, Lab, device};
use serde_json::Value;
use std::path::Path;

/// A prefix with a HIP runtime, a library that needs another, and code objects in a directory.
fn lab() -> Lab {
    let lab = Lab::new();
    let runtime = "void __hipRegisterFatBinary(const void *p) { (void)p; }";
    lab.so("p/lib/libamdhip64.so.6.4.43482", runtime, &["-Wl,-soname,libamdhip64.so.6"]);
    lab.link("libamdhip64.so.6.4.43482", "p/lib/libamdhip64.so.6");
    let parts = [
        ("math", device::bundle(&["gfx90a", "gfx1030", "gfx11-generic"], 4096)),
        ("app", device::ccob(&device::bundle(&["gfx90a", "gfx1030"], 4096), 2, "zstd")),
    ];
    for (name, bytes) in parts {
        lab.write(name, bytes);
        let file = lab.path(name).display().to_string();
        let source = device::host_source(name, &[&file, &file]);
        let out = format!("p/lib/lib{name}.so");
        let soname = format!("-Wl,-soname,lib{name}.so");
        let mut flags = vec!["-Lp/lib", "-l:libamdhip64.so.6", "-Wl,-rpath,$ORIGIN", &*soname];
        if name == "app" {
            flags.extend(["-Wl,--no-as-needed", "-lmath"]);
        }
        lab.so(&out, &source, &flags);
    }
    lab.write("p/share/kernels/one.co", device::code_object("gfx90a"));
    lab.write("p/share/kernels/two.hsaco", device::bundle(&["gfx90a", "gfx1030"], 1));
    lab
}

fn json(lab: &Lab, args: &[&str]) -> Value {
    let found = run(lab, &[&["gpu", "--format", "json"], args].concat());
    serde_json::from_str(&found.out).unwrap_or_else(|error| panic!("{error}: {}", found.out))
}

#[test]
fn it_lists_files_and_targets() {
    let lab = lab();
    let Run { status, out, err } = run(&lab, &["gpu", "p"]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    for line in [
        "lib/libapp.so\n    2 compressed bundles v2 zstd, ",
        "lib/libmath.so\n    2 bundles, ",
        "share/kernels/\n    1 bundle, ",
        "    gfx90a gfx1030 gfx11-generic\n",
        "target              1   2   3\n",
        "gfx90a              E   E   E\n",
        "gfx1030             E   E   E\n",
        "gfx11-generic       -   E   -\n",
        "loader profile stock",
        "4 files with device code, 6 containers, 3 targets\n",
    ] {
        assert!(out.contains(line), "{line:?} is not in\n{out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    // A prefix without device code.
    lab.so("q/libplain.so", "int f(void) { return 1; }", &[]);
    let none = run(&lab, &["gpu", "q"]);
    assert_eq!((none.status, none.out.as_str()), (0, "no device code\n"));
}

#[test]
fn it_says_whether_a_gpu_is_served() {
    let lab = lab();
    let served = run(&lab, &["gpu", "p", "--target", "gfx1030"]);
    assert_eq!(served.status, 0, "{}", served.out);
    assert!(served.out.contains("gfx1030 is served by all device code (exact)"), "{}", served.out);
    let lacking = run(&lab, &["gpu", "p", "--target", "gfx1100"]);
    assert_eq!(lacking.status, 1);
    let line = "lib/libapp.so\n    has no code for gfx1100; has gfx90a gfx1030\n";
    assert!(lacking.out.contains(line), "{}", lacking.out);
    assert!(lacking.out.contains("not served:"), "{}", lacking.out);
    assert!(!lacking.out.contains("libmath.so\n    has no"), "generic code serves it");
    assert_eq!(run(&lab, &["gpu", "p", "--target", "gfx1100", "--fail-on", "never"]).status, 0);
    let bad = run(&lab, &["gpu", "p", "--target", "sm_90"]);
    assert_eq!(bad.status, 2);
    assert!(bad.err.contains("--target sm_90: not a GPU target"), "{}", bad.err);
    // Similar code in a compressed bundle is not found by a patched runtime.
    lab.write("nix.toml", "schema = 1\n[gpu]\nloader = \"nix\"\n");
    let coerced = run(&lab, &["gpu", "p", "--target", "gfx1031", "--policy", "nix.toml"]);
    assert_eq!(coerced.status, 1);
    let text = coerced.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "lib/libapp.so has gfx1030, which the runtime accepts for gfx1031, but in a compressed bundle";
    assert!(text.contains(why), "{}", coerced.out);
    assert!(!text.contains("lib/libmath.so has"), "{}", coerced.out);
}

#[test]
fn its_json_fits_the_schema() {
    let lab = lab();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/gpu.schema.json");
    let schema: Value =
        serde_json::from_str(&std::fs::read_to_string(path).expect("the schema")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    for args in [&["p"][..], &["p", "--deep"], &["p", "--target", "gfx1100"], &["p/share"]] {
        let answer = json(&lab, args);
        let errors: Vec<String> = validator.iter_errors(&answer).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{args:?}: {errors:#?}");
        for key in ["schema", "complete", "files", "databases", "matrix"] {
            let mut broken = answer.clone();
            broken.as_object_mut().expect("an object").remove(key);
            assert!(!validator.is_valid(&broken), "{key}");
        }
    }
    let deep = json(&lab, &["p/lib/libapp.so", "--deep"]);
    let bundle = &deep["files"][0]["bundles"][0];
    assert_eq!((&bundle["kind"], &bundle["compression"]), (&"ccob".into(), &"zstd".into()));
    assert_eq!(bundle["entries"][1]["kernels"][0], "kernel");
    assert_eq!(bundle["entries"][1]["target"], "gfx90a");
    let matrix = &json(&lab, &["p"])["matrix"];
    let app = &matrix[1];
    assert!(app["root"].as_str().is_some_and(|root| root.ends_with("libapp.so")), "{app:#}");
    let runtime = app["runtime"].as_str().expect("a runtime");
    assert!(runtime.ends_with("lib/libamdhip64.so.6.4.43482"), "{runtime}");
    assert_eq!(app["libraries"][0]["targets"]["gfx11-generic"], "none");
    assert_eq!(app["libraries"][1]["targets"]["gfx11-generic"], "exact");
}

/// `gpu` and `check` report damage; `--deep` finds damage inside compressed bundles.
#[test]
fn damage_is_named() {
    let lab = lab();
    let mut bytes = std::fs::read(lab.path("app")).expect("a bundle");
    // The sum in the header.
    bytes[16] ^= 0xff;
    lab.write("d/broken.hsaco", &bytes);
    assert_eq!(run(&lab, &["gpu", "d"]).status, 0, "the table of entries is sound");
    let deep = run(&lab, &["gpu", "d", "--deep"]);
    assert_eq!(deep.status, 1, "{}", deep.out);
    assert!(deep.out.contains("error[gpu-object-mismatch] broken.hsaco:"), "{}", deep.out);
    bytes.truncate(40);
    lab.write("d/broken.hsaco", &bytes);
    for args in [&["gpu", "d"][..], &["d"]] {
        let found = run(&lab, args);
        assert_eq!(found.status, 1, "{}", found.out);
        assert!(found.out.contains("gpu-object-mismatch"), "{}", found.out);
    }
}

/// A prefix whose matrix is wider than 80 columns: 20 directories of code objects, an archive, and
/// a target with settings.
fn wide() -> Lab {
    let lab = Lab::new();
    let all = ["gfx90a:sramecc+:xnack-", "gfx1030", "gfx10-3-generic", "gfx1201"];
    for number in 1..=20 {
        let dir =
            format!("p/share/a-directory-with-a-long-name-of-kernels-for-{number:02}/library");
        let targets = &all[..=number % all.len()];
        lab.write(&format!("{dir}/kernels.hsaco"), device::bundle(targets, 1));
        let packed = device::ccob(&device::bundle(targets, 1), 2, "zlib");
        lab.write(&format!("{dir}/packed.hsaco"), packed);
    }
    lab.write("one.co", device::code_object("gfx90a:sramecc+:xnack-"));
    lab.write("two.hsaco", device::bundle(&["gfx1030", "gfx1201"], 1));
    let (out, members) = (lab.mkdir("p/lib").join("libkernels.a"), ["one.co", "two.hsaco"]);
    let members = members.map(|name| lab.path(name));
    let status = support::clean("ar").arg("rcD").arg(out).args(members).status().expect("ar runs");
    assert!(status.success());
    lab.write("wide.toml", format!("schema = 1\n[gpu]\nloader = \"nix\"\ntargets = {all:?}\n"));
    lab
}

/// The output on a terminal of so many columns.
fn on_terminal(lab: &Lab, width: usize, options: &str) -> String {
    let program = env!("CARGO_BIN_EXE_linkaudit");
    let line = format!(
        "stty cols {width}; '{program}' gpu p --isolated --policy wide.toml --color never {options}"
    );
    let output = support::clean("script")
        .current_dir(lab.root())
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .output()
        .expect("script runs");
    String::from_utf8_lossy(&output.stdout).replace('\r', "")
}

/// The output on a terminal of 80 and 160 columns must equal `gpu.80.txt` and `gpu.160.txt`.
/// `UPDATE=1 cargo test --test texts cli::gpu::` writes the files again; review them.
#[test]
fn the_matrix_at_two_widths() {
    if !support::has("script") {
        return support::skip("the_matrix_at_two_widths", "there is no script");
    }
    let lab = wide();
    let mut wrong = Vec::new();
    for width in [80, 160] {
        let text = on_terminal(&lab, width, "");
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/texts/cli/gpu.{width}.txt"));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &text).expect("the text is written");
        }
        if std::fs::read_to_string(&path).ok().as_deref() != Some(&text) {
            wrong.push(format!("== {width} columns\n{text}"));
        }
        // Lines of the list and of the matrix fit; findings are one line each.
        for line in text.lines().filter(|line| !line.contains('[')) {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        whole_matrix(&text);
    }
    println!("gpu: 2 widths, {} differences", wrong.len());
    assert!(wrong.is_empty(), "UPDATE=1 writes them\n{}", wrong.join("\n"));
    // With -v, no path is cut.
    let all = on_terminal(&lab, 80, "-v");
    for number in 1..=20 {
        let dir = format!("a-directory-with-a-long-name-of-kernels-for-{number:02}/library");
        assert!(all.contains(&format!("share/{dir}\n")), "{dir} is not in\n{all}");
    }
    whole_matrix(&all);
}

/// Every target has a letter for each of the 21 rows, below the number of the row.
fn whole_matrix(text: &str) {
    for target in ["gfx90a:sramecc+:xnack-", "gfx1030", "gfx10-3-generic", "gfx1201"] {
        let start = format!("{target} ");
        let (mut numbers, mut letters) = (Vec::new(), 0);
        let mut header = "";
        for line in text.lines() {
            if line.starts_with("target ") {
                header = line;
            } else if line.starts_with(&start) && !header.is_empty() {
                assert_eq!(line.chars().count(), header.chars().count(), "{line}\n{header}");
                let cells = line[target.len()..].split_whitespace();
                letters += cells.clone().count();
                assert!(cells.into_iter().all(|cell| "EGCS-".contains(cell)), "{line}");
                numbers.extend(header.split_whitespace().skip(1).map(str::to_owned));
            }
        }
        let expected: Vec<String> = (1..=21).map(|number| number.to_string()).collect();
        assert_eq!((numbers, letters), (expected, 21), "{target}\n{text}");
    }
}
