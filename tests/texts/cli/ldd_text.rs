//! `--format ldd`: headings, order and names. Other tests compare the lines below a heading with
//! the real `ldd`.

use super::kit::{BROKEN, FOO, run};
use crate::support::{Lab, Tally, clean};

/// `d` with three libraries whose order by path differs from that of their directories, and two
/// other files.
fn tree() -> Lab {
    let lab = Lab::new();
    for name in ["d/b/libz.so", "d/a/liba.so", "d/a-x.so"] {
        lab.so(name, BROKEN, &[]);
    }
    lab.write("d/text", "no ELF file\n");
    super::kit::object(&lab, "d/z.o", FOO);
    lab
}

fn ldd(lab: &Lab, args: &[&str]) -> String {
    let run = run(lab, &[&["--as-ldd", "--format", "ldd"], args].concat());
    assert_eq!(run.err, "");
    run.out
}

fn headings(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('\t') && line.ends_with(':')).collect()
}

#[test]
fn one_file_has_no_heading() {
    let lab = tree();
    let text = ldd(&lab, &["d/a/liba.so"]);
    assert_eq!(text, "\tstatically linked\nundefined symbol: gone\t(d/a/liba.so)\n");
    assert_eq!(ldd(&lab, &["d/text"]), "\tnot a dynamic executable\n");
}

/// As `ldd` does, for a named file only.
#[test]
fn a_file_without_link_map_is_an_error() {
    let lab = tree();
    lab.so("d/fine.so", FOO, &[]);
    let status =
        |args: &[&str]| run(&lab, &[&["--as-ldd", "--format", "ldd"], args].concat()).status;
    let of_ldd = |args: &[&str]| {
        let output = clean("ldd").current_dir(lab.root()).args(args).output().expect("ldd runs");
        output.status.code()
    };
    for (args, expected) in
        [(&["d/text"][..], 1), (&["d/fine.so", "d/text"], 1), (&["d/z.o"], 1), (&["d/fine.so"], 0)]
    {
        assert_eq!((status(args), of_ldd(args)), (expected, Some(expected)), "{args:?}");
    }
    lab.mkdir("e");
    super::kit::object(&lab, "e/z.o", FOO);
    assert_eq!(status(&["e"]), 0);
    // Only the output of link maps says that a file has none.
    let json = run(&lab, &["--as-ldd", "--format", "json", "d/fine.so", "d/text"]);
    let report: serde_json::Value = serde_json::from_str(&json.out).expect("a report");
    assert_eq!((json.status, &report["findings"]), (0, &serde_json::json!([])));
}

#[test]
fn several_files_have_headings_as_typed() {
    let lab = tree();
    let absolute = lab.path("d/a-x.so");
    let absolute = absolute.to_str().expect("a laboratory path in UTF-8");
    let typed = ["d/a/../a/liba.so", "./d/b/libz.so", absolute, "d//a-x.so"];
    let text = ldd(&lab, &typed);
    let expected: Vec<String> = typed.iter().map(|path| format!("{path}:")).collect();
    assert_eq!(headings(&text), expected);
    for path in typed {
        assert!(text.contains(&format!("undefined symbol: gone\t({path})\n")), "{path}\n{text}");
    }
}

#[test]
fn files_keep_the_order_they_were_given_in() {
    let lab = tree();
    let text = ldd(&lab, &["d/b/libz.so", "d/text", "d/a-x.so"]);
    assert_eq!(headings(&text), ["d/b/libz.so:", "d/text:", "d/a-x.so:"]);
    assert!(text.contains("d/text:\n\tnot a dynamic executable\nd/a-x.so:\n"), "{text}");
}

#[test]
fn a_directory_expands_in_byte_order() {
    let lab = tree();
    let expected = ["d/a-x.so:", "d/a/liba.so:", "d/b/libz.so:", "d/z.o:"];
    assert_eq!(headings(&ldd(&lab, &["d"])), expected);
    assert_eq!(headings(&ldd(&lab, &["d/"])), expected);
    let text = ldd(&lab, &["./d"]);
    let expected: Vec<String> = expected.iter().map(|heading| format!("./{heading}")).collect();
    assert_eq!(headings(&text), expected);
    assert!(text.ends_with("./d/z.o:\n\tnot a dynamic executable\n"), "{text}");
}

#[test]
fn a_directory_stands_where_it_was_given() {
    let lab = tree();
    let text = ldd(&lab, &["d/b/libz.so", "d/a", "d/a-x.so"]);
    assert_eq!(headings(&text), ["d/b/libz.so:", "d/a/liba.so:", "d/a-x.so:"]);
}

#[test]
fn a_directory_with_one_file_has_no_heading() {
    let lab = tree();
    assert_eq!(ldd(&lab, &["d/a"]), "\tstatically linked\nundefined symbol: gone\t(d/a/liba.so)\n");
    lab.mkdir("empty");
    assert_eq!(ldd(&lab, &["empty"]), "");
}

#[test]
fn a_name_without_slash() {
    let lab = Lab::new();
    lab.so("liba.so", BROKEN, &[]);
    lab.so("libb.so", BROKEN, &[]);
    let below = "\tstatically linked\nundefined symbol: gone\t";
    assert_eq!(ldd(&lab, &["liba.so"]), format!("{below}(./liba.so)\n"));
    let both = format!("liba.so:\n{below}(./liba.so)\nlibb.so:\n{below}(./libb.so)\n");
    assert_eq!(ldd(&lab, &["liba.so", "libb.so"]), both);
}

#[test]
fn a_link_is_started_by_its_own_name() {
    let lab = tree();
    lab.link("a/liba.so", "d/link.so");
    // In a directory only files are listed, or every library would come several times.
    assert!(!ldd(&lab, &["d"]).contains("link.so"));
    let text = ldd(&lab, &["d/link.so"]);
    assert_eq!(text, "\tstatically linked\nundefined symbol: gone\t(d/link.so)\n");
}

#[test]
fn all_of_it_goes_to_stdout() {
    let lab = tree();
    let flags = ["-Wl,--no-as-needed", "-Ld/a", "-la", "-Wl,-rpath,$ORIGIN"];
    lab.exe("d/app", "int main(void) { return 0; }", &flags);
    // Longer than an ELF header: a shorter file is only called short.
    lab.write("d/liba.so", format!("INPUT(x) /* {} */\n", "-".repeat(64)));
    let text = ldd(&lab, &["d/app"]);
    let here = lab.root();
    let here = here.display();
    let line = format!(
        "d/app: error while loading shared libraries: {here}/d/liba.so: invalid ELF header\n"
    );
    assert_eq!(text, line);
}

/// Each spelling of one file is listed separately, as by `ldd`.
#[test]
fn one_file_in_several_spellings() {
    let lab = tree();
    lab.so("d/libdep.so", FOO, &[]);
    let flags = ["-Wl,--no-as-needed", "-Ld", "-ldep", "-Wl,-rpath,$ORIGIN"];
    lab.exe("d/app", "int gone(void); int main(void) { return gone(); }", &flags);
    let absolute = |rest: &str| format!("{}{rest}", lab.root().display());
    let (plain, dotted) = (absolute("/d/app"), absolute("/d/./app"));
    let typed = ["d/a-x.so", "d//a-x.so", "d/./a-x.so", "d/app", "d///app", &plain, &dotted];
    let mut tally = Tally::default();
    let text = ldd(&lab, &typed);
    assert_eq!(headings(&text).len(), typed.len(), "{text}");
    for path in typed {
        let section = text.split_once(&format!("{path}:\n")).expect("a heading").1;
        let ours: String = section
            .split_inclusive('\n')
            .take_while(|line| !typed.iter().any(|path| line.trim_end() == format!("{path}:")))
            .collect();
        tally.compare(path, &ours, &lab.ldd_r(path));
    }
    tally.finish("one file in several spellings");
    // A directory lists a file once, even if other arguments name it too.
    let text = ldd(&lab, &["d/a", "d//a/liba.so", "d/a/liba.so"]);
    assert_eq!(headings(&text), ["d/a/liba.so:", "d//a/liba.so:", "d/a/liba.so:"]);
    assert!(!text.contains("not a dynamic"), "{text}");
}
