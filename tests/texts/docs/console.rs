//! Console blocks of the documentation: each is run in the laboratory that the comment above it
//! names, and the page must show the real output. `UPDATE=1` rewrites the blocks.

use super::{WRITING, repository, update};
use crate::support::{Lab, clean};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Pages with console blocks.
const PAGES: &[&str] =
    &["README.md", "docs/reading-a-report.md", "docs/json.md", "docs/commands.md", "docs/ci.md"];

/// The directory that pages show instead of the laboratory's. Both have the same length, so that
/// lines wrap at the same word.
const SHOWN: &str = "/srv/build";

const SHAPE: &str =
    "class Shape { public: int id(int n) const; double area(double scale) const; };";
const SHAPE_OLD: &str = "int Shape::id(int n) const { return n; }
double Shape::area(double scale) const { return scale; }";
const SHAPE_NEW: &str =
    "class Shape { public: int id(int n) const; double area(float scale) const; };
int Shape::id(int n) const { return n; }
double Shape::area(float scale) const { return scale; }";

/// A program that was built against `libshapes.so.1`; a later build of the library changed the type
/// of a parameter.
const SHAPES: &str = r#"
mkdir bin lib
so() { g++ -w -shared -fPIC -Wl,--as-needed -Wl,-soname,"$1" -o "lib/$1" -x c++ - ; }
{ cat shape.h old.cc; } | so libshapes.so.1
{ cat shape.h; echo 'int main() { Shape s; return int(s.area(2)) - s.id(2); }'; } >app.cc
g++ -w app.cc -o bin/app -Wl,--as-needed lib/libshapes.so.1 '-Wl,-rpath,$ORIGIN/../lib'
so libshapes.so.1 <new.cc
rm ./*.cc ./*.h
"#;

/// An application with a library in a directory that the loader does not search, a library of
/// another release, and a Python extension.
const VIEWER: &str = r#"
mkdir -p app/bin app/lib/private app/lib/python3
so() { out=$1; shift; g++ -w -shared -fPIC -Wl,--as-needed -o "app/lib/$out" -x c++ - -x none "$@"; }
{ cat shape.h old.cc; } | so libshapes.so.1 -Wl,-soname,libshapes.so.1
echo 'int mesh_size() { return 1; }' | so private/libmesh.so.2 -Wl,-soname,libmesh.so.2
{ cat shape.h; echo 'int mesh_size(); int render() { Shape s; return int(s.area(2)) + mesh_size(); }'; } |
  so librender.so.1 -Wl,-soname,librender.so.1 app/lib/libshapes.so.1 app/lib/private/libmesh.so.2 \
    '-Wl,-rpath,$ORIGIN'
echo 'int render(); int main() { return render(); }' | g++ -w -o app/bin/viewer -x c++ - -x none \
  -Wl,--as-needed,--unresolved-symbols=ignore-all app/lib/librender.so.1 '-Wl,-rpath,$ORIGIN/../lib'
so libshapes.so.1 -Wl,-soname,libshapes.so.1 <new.cc
echo 'extern "C" void *PyLong_FromLong(long); extern "C" void *PyInit_shapes() { return PyLong_FromLong(1); }' |
  so python3/shapes.cpython-311-x86_64-linux-gnu.so
rm ./*.cc ./*.h
"#;

/// Two releases of ROCm. The new one lacks a library that a program needs, and an unused symbol; it
/// defines a symbol that MIOpen lacked.
const RELEASES: &str = r#"
so() { out=$1; shift; gcc -w -shared -fPIC -Wl,-soname,"${out##*/}" -o "$out" -x c - -x none "$@" '-Wl,-rpath,$ORIGIN'; }
release() {
  mkdir -p "$1/bin" "$1/lib"
  echo 'int rand_uniform(void) { return 4; }' | so "$1/lib/librocrand.so.1"
  echo 'int gemm(void) { return 1; } int gemm_batched(void) { return 2; }' | so "$1/lib/librocblas.so.4"
  echo 'int LLVMInitializeX86AsmPrinter(); int gemm(); int conv() { return gemm() + LLVMInitializeX86AsmPrinter(); }' |
    so "$1/lib/libMIOpen.so.1" "$1/lib/librocblas.so.4"
  echo 'int rand_uniform(); int conv(); int main() { return conv() + rand_uniform(); }' |
    gcc -w -o "$1/bin/MIOpenDriver" -x c - -x none -Wl,--unresolved-symbols=ignore-all "$1/lib/libMIOpen.so.1" \
      "$1/lib/librocrand.so.1" '-Wl,-rpath,$ORIGIN/../lib'
}
release rocm-6.3
release rocm-6.4
rm rocm-6.4/lib/librocrand.so.1
echo 'int gemm(void) { return 1; }' | so rocm-6.4/lib/librocblas.so.4
echo 'int LLVMInitializeX86AsmPrinter() { return 0; } int gemm(); int conv() { return gemm(); }' |
  so rocm-6.4/lib/libMIOpen.so.1 rocm-6.4/lib/librocblas.so.4
cat >release-gate <<'EOF'
#!/bin/sh
# release-gate OLD NEW: passes if nothing that OLD had is gone or broken in NEW.
# OLD is a report of the last release, NEW the prefix of this one.
linkaudit diff --isolated --fail-on-gone "$1" "$2" -o markdown=changes.md -o junit=changes.xml
status=$?
case $status in
0) linkaudit --isolated --facts --fail-on never -o json=next.json "$2" >/dev/null ;; # for the next release
3) echo "release-gate: something could not be compared" >&2 ;;
esac
exit $status
EOF
chmod +x release-gate
"#;

/// The laboratories that pages name.
const LABS: &[(&str, &str)] = &[("shapes", SHAPES), ("viewer", VIEWER), ("releases", RELEASES)];

fn build(name: &str) -> Lab {
    let script = LABS.iter().find(|(known, _)| *known == name);
    let (_, script) = script.unwrap_or_else(|| panic!("no laboratory `{name}`"));
    let lab = Lab::with_short_path();
    lab.write("shape.h", SHAPE);
    lab.write("old.cc", SHAPE_OLD);
    lab.write("new.cc", SHAPE_NEW);
    let built = lab.sh(script);
    assert!(built.status.success(), "{name}: {}", String::from_utf8_lossy(&built.stderr));
    lab
}

/// Both streams of a command, with the laboratory's directory and load addresses replaced.
fn answer(lab: &Lab, command: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_linkaudit"));
    let programs = program.parent().and_then(Path::to_str).expect("a directory in UTF-8");
    let path = std::env::var("PATH").expect("PATH in UTF-8");
    let output = clean("sh")
        .current_dir(lab.root())
        .env("PATH", format!("{programs}:{path}"))
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .output()
        .expect("sh runs");
    let root = lab.root();
    let root = root.to_str().expect("a path in UTF-8");
    assert_eq!(root.len(), SHOWN.len(), "lines would wrap elsewhere than in {SHOWN}");
    let text = String::from_utf8_lossy(&output.stdout).replace(root, SHOWN);
    let line = |line: &str| match line.rfind(" (0x") {
        Some(at) if line.ends_with(')') => format!("{} (0x…)\n", &line[..at]),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// One part of a page: text, or the commands of a block.
enum Part {
    Text(String),
    Block { lab: String, commands: Vec<String> },
}

/// True if the next line belongs to the command too: after a backslash, or between quotes.
fn goes_on(command: &str) -> bool {
    command.ends_with('\\') || command.matches('\'').count() % 2 == 1
}

/// Splits a page at its console blocks.
fn parts(page: &str, text: &str) -> Vec<Part> {
    let mut out = Vec::new();
    let mut plain = String::new();
    let mut lines = text.lines();
    let mut above = "";
    while let Some(line) = lines.next() {
        plain += &format!("{line}\n");
        if line != "```console" {
            above = line;
            continue;
        }
        let lab = above.strip_prefix("<!-- lab: ").and_then(|name| name.strip_suffix(" -->"));
        let lab = lab.unwrap_or_else(|| panic!("{page}: a block without `<!-- lab: NAME -->`"));
        out.push(Part::Text(std::mem::take(&mut plain)));
        let mut commands: Vec<String> = Vec::new();
        let mut is_open = false;
        for line in lines.by_ref().take_while(|line| *line != "```") {
            if let Some(command) = line.strip_prefix("$ ") {
                commands.push(command.to_owned());
                is_open = goes_on(command);
            } else if is_open {
                let last = commands.last_mut().expect("a command goes on");
                *last += &format!("\n{line}");
                is_open = goes_on(last);
            }
        }
        out.push(Part::Block { lab: lab.to_owned(), commands });
        plain += "```\n";
    }
    out.push(Part::Text(plain));
    out
}

/// The expected page, and the number of its commands.
fn rendered(page: &str, text: &str) -> (String, usize) {
    let mut labs = BTreeMap::new();
    let mut count = 0;
    let mut out = String::new();
    for part in parts(page, text) {
        match part {
            Part::Text(text) => out += &text,
            Part::Block { lab, commands } => {
                let lab = labs.entry(lab.clone()).or_insert_with(|| build(&lab));
                count += commands.len();
                let answers = commands.iter().map(|command| {
                    let answer = answer(lab, command);
                    format!("$ {command}\n{}", if answer == "\n" { "" } else { &answer })
                });
                out += &answers.collect::<Vec<_>>().join("\n");
            }
        }
    }
    (out, count)
}

#[test]
fn console_blocks_are_real() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in PAGES {
        let path = repository(page);
        let lock = WRITING.lock();
        let text = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{page}"));
        let (expected, commands) = rendered(page, &text);
        count += commands;
        if update() {
            std::fs::write(&path, expected).expect("the page is written");
            drop(lock);
        } else if text != expected {
            let lines = text.lines().zip(expected.lines());
            let first = lines.enumerate().find(|(_, (is, should))| is != should);
            wrong.push(format!("{page}: {first:?}"));
        }
    }
    assert!(wrong.is_empty(), "UPDATE=1 rewrites:\n{}", wrong.join("\n"));
    println!("{count} commands of {} pages, all with their real output", PAGES.len());
}

/// The page about JSON promises ten recipes. They work for names that are not UTF-8 too.
#[test]
fn json_has_ten_recipes() {
    let text = std::fs::read_to_string(repository("docs/json.md")).expect("docs/json.md");
    let blocks = text.split("```console\n$ ").skip(1);
    let recipes: Vec<String> = blocks
        .filter(|block| block.starts_with("jq "))
        .map(|block| {
            let mut lines = block.lines();
            let first = lines.next().expect("a command");
            let rest = lines.take_while(|line| line.starts_with("  |"));
            std::iter::once(first).chain(rest).collect::<Vec<_>>().join("\n")
        })
        .collect();
    assert!(recipes.len() >= 10);
    let lab = Lab::new();
    lab.so("lib.so", "void gone(void); void broken(void) { gone(); }", &[]);
    let name = OsStr::from_bytes(b"lib\xff.so");
    std::fs::create_dir(lab.path("odd")).expect("a directory");
    std::fs::rename(lab.path("lib.so"), lab.path("odd").join(name))
        .expect("a file system of bytes");
    let report = lab.linkaudit(&["--isolated", "--format", "json", "odd"]);
    lab.write("report.json", report.stdout);
    for recipe in recipes {
        let run = lab.sh(&recipe);
        let (out, errors) =
            (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        assert!(run.status.success() && errors.is_empty(), "{recipe}\n{errors}");
        if recipe.contains("unique[]") || recipe.contains("::") {
            assert!(out.contains("lib\u{fffd}.so") && !out.contains("bytes"), "{recipe}\n{out}");
        }
    }
}
