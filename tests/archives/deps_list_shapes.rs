//! Lists in the shapes of real projects. For each file of `deps_list_shapes/`, archives are built,
//! a library is linked without some of them, and `linkaudit fix` writes the list. CMake prints the
//! value before and after: it must differ only by the new names, and the diff of the text must be
//! minimal.

use crate::support;
use crate::support::random::step;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use support::Lab;

/// The facts in the comments at the start of a file.
struct Shape {
    text: String,
    keys: BTreeMap<String, String>,
}

impl Shape {
    fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("a list in UTF-8");
        let lines = text.lines().filter_map(|line| line.strip_prefix("#: "));
        let pair = |line: &str| {
            let (key, value) = line.split_once(" = ").expect("a key and its value");
            (key.to_owned(), value.trim_end().to_owned())
        };
        Self { keys: lines.map(pair).collect(), text }
    }

    fn key(&self, key: &str) -> &str {
        self.keys.get(key).map_or("", String::as_str)
    }

    fn words(&self, key: &str) -> Vec<&str> {
        self.key(key).split(' ').filter(|word| !word.is_empty()).collect()
    }

    /// Builds archives of all names, an archive merged from the linked ones, and a library from
    /// that. The first linked archive refers to the added ones, unless `refers` names another.
    fn build(&self, lab: &Lab) {
        let (linked, add) = (self.words("linked"), self.words("add"));
        let id = |name: &str| name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let mut refers: Vec<(&str, &str)> =
            self.words("refers").iter().map(|pair| pair.split_once('>').expect("two")).collect();
        if refers.is_empty() {
            refers = add.iter().map(|name| (linked[0], *name)).collect();
        }
        let all: BTreeSet<&str> =
            linked.iter().chain(&add).copied().chain(self.words("at_hand")).collect();
        for name in &all {
            let calls: Vec<String> = refers
                .iter()
                .filter(|(from, _)| from == name)
                .map(|(_, to)| {
                    format!("int f_{0}(void); int g_{0}(void) {{ return f_{0}(); }}", id(to))
                })
                .map(|text| text.replace("int g_", &format!("int g_{}_", id(name))))
                .collect();
            let own = format!("int f_{}(void) {{ return 1; }}\n", id(name));
            lab.write(&format!("{name}.c"), own + &calls.join("\n"));
        }
        let list = |names: &mut dyn Iterator<Item = &&str>, end: &str| -> String {
            names.map(|name| format!("'{name}{end}' ")).collect()
        };
        let mut script = format!("mkdir p m; cc -c -fPIC {}; ", list(&mut all.iter(), ".c"));
        for name in &all {
            script += &format!("ar rc 'p/lib{name}.a' '{name}.o'; ");
        }
        script += &format!("ar rc m/libmerged.a {}; ", list(&mut linked.iter(), ".o"));
        script +=
            "cc -shared -o m/libuser.so -Wl,--whole-archive m/libmerged.a -Wl,--no-whole-archive";
        let output = lab.sh(&format!("set -e; {script}"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The value of a variable or target that CMake prints.
pub(crate) fn value(lab: &Lab, file: &str, name: &str) -> Vec<String> {
    let script = format!(
        "cmake_minimum_required(VERSION 3.13)\nfunction(record target)\n set_property(GLOBAL APPEND PROPERTY \"link_${{target}}\" ${{ARGN}})\n\
         endfunction()\n\
         macro(target_link_libraries)\n record(${{ARGV}})\nendmacro()\n\
         macro(ocv_target_link_libraries)\n record(${{ARGV}})\nendmacro()\n\
         macro(add_mlir_library)\n record(${{ARGV}})\nendmacro()\n\
         include({file})\n\
         get_property(linked GLOBAL PROPERTY \"link_{name}\")\n\
         foreach(one ${{{name}}} ${{linked}})\n message(\"value ${{one}}\")\nendforeach()\n"
    );
    lab.write("print.cmake", script);
    let mut cmake = support::clean("cmake");
    let output = cmake.current_dir(lab.root()).args(["-P", "print.cmake"]).output();
    let output = output.expect("cmake runs");
    let err = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success(), "{file}: {err}");
    err.lines().filter_map(|line| line.strip_prefix("value ")).map(str::to_owned).collect()
}

/// `new` without the names of `old`; `None` if `new` lacks one of them or has them in another
/// order.
pub(crate) fn added<'n>(old: &[String], new: &'n [String]) -> Option<Vec<&'n str>> {
    let (mut out, mut rest) = (Vec::new(), old.iter().peekable());
    for word in new {
        if rest.next_if(|next| *next == word).is_none() {
            out.push(word.as_str());
        }
    }
    rest.peek().is_none().then_some(out)
}

/// The numbers of changed lines of `old` and of new lines: `~1+2`.
pub(crate) fn diff(old: &str, new: &str) -> String {
    let (mut table, new, old) = (
        Vec::new(),
        new.split_inclusive('\n').collect::<Vec<_>>(),
        old.split_inclusive('\n').collect::<Vec<_>>(),
    );
    table.resize(old.len() + 1, vec![0_usize; new.len() + 1]);
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            table[i][j] =
                if a == b { table[i + 1][j + 1] + 1 } else { table[i + 1][j].max(table[i][j + 1]) };
        }
    }
    let (gone, more) = (old.len() - table[0][0], new.len() - old.len());
    let part = |sign: char, n: usize| if n == 0 { String::new() } else { format!("{sign}{n}") };
    part('~', gone) + &part('+', more)
}

#[test]
fn cmake_prints_the_new_names_alone() {
    if !support::has("cmake") {
        return support::skip("cmake_prints_the_new_names_alone", "needs cmake");
    }
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/archives/deps_list_shapes");
    let files =
        std::fs::read_dir(dir).expect("the lists").map(|entry| entry.expect("a file").path());
    let files: BTreeSet<_> = files.collect();
    let (mut wrong, mut lists) = (Vec::new(), 0);
    for path in files.iter().step_by(step(4)) {
        lists += 1;
        let shape = Shape::read(path);
        let file = path.file_name().expect("a name").to_string_lossy().into_owned();
        let lab = Lab::new();
        shape.build(&lab);
        lab.write("old.cmake", &shape.text);
        let run = lab.linkaudit(&[
            "fix",
            "m/libuser.so",
            "--lib-path",
            "m",
            "--lib-path",
            "p",
            "--archive",
            "m/libmerged.a",
            "--deps-list",
            "old.cmake",
            "--emit",
            "cmake-deps",
            "-o",
            "cmake-deps=new.cmake",
        ]);
        let said = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
        let Ok(text) = std::fs::read_to_string(lab.path("new.cmake")) else {
            wrong.push(format!("{file}: no list: {said}"));
            continue;
        };
        let name = shape.key("value");
        let (old, new) = (value(&lab, "old.cmake", name), value(&lab, "new.cmake", name));
        let mut words = added(&old, &new);
        if let Some(words) = &mut words {
            words.sort_unstable();
        }
        let place = |name: &str| new.iter().position(|word| word == name);
        let in_order = shape.words("before").iter().all(|pair| {
            let (a, b) = pair.split_once('<').expect("two");
            place(a) < place(b)
        });
        let lines = diff(&shape.text, &text);
        if words != Some(shape.words("words")) || !in_order || lines != shape.key("diff") {
            wrong.push(format!("{file}: {words:?} {lines} {in_order}\n{text}{said}"));
        }
    }
    println!("lists of projects: {lists} files, {} differences to cmake", wrong.len());
    assert!(wrong.is_empty() && files.len() >= 40, "{}", wrong.join("\n"));
}
