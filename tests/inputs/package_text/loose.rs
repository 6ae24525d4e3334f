//! Text files with random lines that Python, ldconfig and GCC read: each program shows the paths
//! that it does not find, or the options that it adds to every link. Text files in a staging
//! directory get the same findings as after the installation.

use super::random::{Random, seeds};
use super::report::{Report, text};
use crate::support::{Lab, clean, has, linkaudit, skip};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

/// Paths and flags in findings of a rule; paths in the prefix are absolute.
fn details(report: &Report, rule: &str) -> BTreeSet<String> {
    let details = report.of_rule(rule).map(|finding| {
        let detail = text(&finding["detail"]);
        match finding["prefix"].as_str().filter(|_| !detail.starts_with(['/', '-'])) {
            Some(prefix) => format!("{}/{detail}", prefix.trim_end_matches('/')),
            None => detail.to_owned(),
        }
    });
    details.collect()
}

fn audit(lab: &Lab, args: &[&str]) -> Report {
    Report::of(linkaudit().current_dir(lab.root()).args(["-W", "package-text"]).args(args))
}

/// Adds the differences of two sets to a list.
fn compare(seed: u64, ours: &BTreeSet<String>, theirs: &BTreeSet<String>, out: &mut Vec<String>) {
    out.extend(ours.difference(theirs).map(|one| format!("seed {seed}: only linkaudit: {one}")));
    out.extend(theirs.difference(ours).map(|one| format!("seed {seed}: only the other: {one}")));
}

fn finish(what: &str, cases: Range<u64>, seen: usize, differences: &[String]) {
    let cases = cases.count();
    println!("{what}: {cases} cases with {seen} facts, {} differences", differences.len());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(seen > 0, "nothing was compared");
}

/// A name that exists (`d0` to `d3`) or does not.
fn name(random: &mut Random) -> String {
    let letter = if random.chance(50) { "d" } else { "gone" };
    format!("{letter}{}", random.below(4))
}

#[test]
fn entries_of_python() {
    if !has("python3") {
        return skip("entries_of_python", "no python3");
    }
    let (cases, mut seen, mut differences) = (seeds("LINKAUDIT_LOOSE", 40), 0, Vec::new());
    for seed in cases.clone() {
        let random = &mut Random::new(seed);
        let lab = Lab::new();
        let (root, site) = (lab.root().display().to_string(), "lib/python3.11/site-packages");
        for number in 0..4 {
            lab.mkdir(&format!("{site}/d{number}"));
            lab.mkdir(&format!("d{number}"));
        }
        for file in 0..3 {
            let lines: Vec<String> = (0..random.between(1, 8))
                .map(|_| {
                    let name = name(random);
                    match random.below(12) {
                        0 => format!("# {root}/{name}"),
                        1 => "import os; os.getcwd()".to_owned(),
                        2 => "import\tos".to_owned(),
                        3 => format!("{root}/{name}  \t"),
                        4 => format!("../../../{name}/."),
                        5 => format!("/none/of/{name}"),
                        6 => format!(" {name}"),
                        7 => format!("imports/{name}"),
                        8 => "   ".to_owned(),
                        9 => format!("./{name}\r"),
                        10 => format!("{root}/{name}"),
                        _ => name,
                    }
                })
                .collect();
            lab.write(&format!("{site}/f{file}.pth"), lines.join("\n"));
        }
        // Prints the paths that Python asks for and that do not exist. Python's answers stay the
        // same.
        let script = "import os, site, sys\nreal = os.path.exists\n\
            os.path.exists = lambda p: real(p) or (print('gone', p), False)[1]\n\
            site.addsitedir(sys.argv[1])\n";
        let output = clean("python3").args(["-I", "-S", "-c", script]).arg(lab.path(site)).output();
        let output = output.expect("python3");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let gone = printed.lines().filter_map(|line| line.strip_prefix("gone "));
        let gone = gone.filter(|path| Path::new(path).starts_with(&root)).map(str::to_owned);
        let theirs: BTreeSet<String> = gone.collect();
        seen += theirs.len();
        compare(
            seed,
            &details(&audit(&lab, &["."]), "text-missing-path"),
            &theirs,
            &mut differences,
        );
    }
    finish("entries of *.pth against Python", cases, seen, &differences);
}

#[test]
fn directories_of_ldconfig() {
    let ldconfig = "/sbin/ldconfig";
    if !Path::new(ldconfig).exists() {
        return skip("directories_of_ldconfig", "no ldconfig");
    }
    let (cases, mut seen, mut differences) = (seeds("LINKAUDIT_LOOSE", 40), 0, Vec::new());
    for seed in cases.clone() {
        let random = &mut Random::new(seed);
        let lab = Lab::new();
        for number in 0..4 {
            lab.mkdir(&format!("r/opt/d{number}"));
        }
        lab.mkdir("r/usr/lib");
        lab.write(
            "r/etc/ld.so.conf",
            "/opt/gone9\ninclude /etc/ld.so.conf.d/*.conf /none/*.conf\n",
        );
        for file in 0..3 {
            let lines: Vec<String> = (0..random.between(1, 6))
                .map(|_| {
                    let name = name(random);
                    match random.below(9) {
                        0 => format!("# /opt/{name}"),
                        1 => format!("  /opt/{name}//# /opt/gone8"),
                        2 => "hwcap 0 nosegneg".to_owned(),
                        3 => format!("/usr/local/{name}"),
                        4 => "/usr/lib/x86_64-linux-gnu".to_owned(),
                        5 => format!("\t/opt/{name}/below\t"),
                        6 => "include none*.conf".to_owned(),
                        _ => format!("/opt/{name}"),
                    }
                })
                .collect();
            lab.write(&format!("r/etc/ld.so.conf.d/f{file}.conf"), lines.join("\n"));
        }
        let output = clean(ldconfig).args(["-v", "-N", "-X", "-r"]).arg(lab.path("r")).output();
        let printed = String::from_utf8_lossy(&output.expect("ldconfig").stderr).into_owned();
        let gone = printed.lines().filter_map(|line| line.split_once("Can't stat "));
        let gone = gone.filter_map(|(_, rest)| Some(rest.split_once(':')?.0));
        // The system's own directories are optional.
        let theirs: BTreeSet<String> =
            gone.filter(|path| path.starts_with("/opt")).map(str::to_owned).collect();
        seen += theirs.len();
        let report = audit(&lab, &["--root", "r", "/"]);
        compare(seed, &details(&report, "text-missing-path"), &theirs, &mut differences);
    }
    finish("directories of ld.so.conf against ldconfig", cases, seen, &differences);
}

/// Options of GCC that switch the conditions of the test.
const OPTIONS: [&str; 5] = ["-rdynamic", "-shared", "-static", "-pthread", "-pg"];

#[test]
fn specs_of_gcc() {
    let ask = |what: &str| {
        let output = clean("gcc").arg(what).output().ok().filter(|output| output.status.success());
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let (Some(machine), Some(version)) = (ask("-dumpmachine"), ask("-dumpversion")) else {
        return skip("specs_of_gcc", "no gcc");
    };
    let (cases, mut seen, mut differences) = (seeds("LINKAUDIT_LOOSE", 40), 0, Vec::new());
    for seed in cases.clone() {
        let random = &mut Random::new(seed);
        let lab = Lab::new();
        let root = lab.root().display().to_string();
        lab.write("x.o", "");
        for number in 0..4 {
            lab.mkdir(&format!("d{number}"));
        }
        let mut specs = String::from("# of a test\n");
        for (index, spec) in ["lib", "link_libgcc", "link"].iter().enumerate() {
            let plus = if *spec == "link" { "+ " } else { "" };
            specs += &format!("*{spec}:\n{plus}");
            for number in 0..random.below(7) {
                // Each name once: two conditions could cover all options.
                let name = match name(random) {
                    name if name.starts_with("gone") => format!("gone{index}x{number}"),
                    name => name,
                };
                let word = match random.below(7) {
                    0 => format!("-L/other/{index}x{number}"),
                    1 => format!("-L{root}/{name}"),
                    2 => format!("-rpath {root}/{name}"),
                    3 => format!("{root}/{name}/x.o%s"),
                    4 => format!("-rpath-link={root}/{name}"),
                    _ => format!("-li{index}x{number}"),
                };
                specs += &match random.below(8) {
                    0 => format!("%{{shared:{word}}} "),
                    1 => format!("%{{!shared:%{{!static: {word} }}}}  "),
                    // GCC takes the end of a line for the end of a command.
                    2 => format!("%{{static|pg:-lc;:{word}}} \\\n "),
                    _ => format!("{word} "),
                };
            }
            // An empty line inside of a spec would end it.
            specs = specs.trim_end().to_owned()
                + if specs.ends_with(":\n") { "\n\n\n" } else { "\n\n" };
        }
        let file = format!("lib/gcc/{machine}/{version}/specs");
        lab.write(&file, &specs);
        let link = |option: &str| {
            let mut gcc = clean("gcc");
            gcc.current_dir(lab.root()).arg("-###").arg(option);
            let output = gcc.arg(format!("-B{root}/lib/gcc/")).arg("x.o").output().expect("gcc");
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(error.contains("Reading specs from"), "seed {seed}: {error}");
            let collect = error.lines().find(|line| line.contains("collect2"));
            let line = collect.unwrap_or_else(|| panic!("seed {seed}: {error}\n{specs}"));
            let words = line.split_whitespace().map(|word| word.trim_matches('"').to_owned());
            words.collect::<Vec<String>>()
        };
        let lines: Vec<Vec<String>> = OPTIONS.iter().map(|option| link(option)).collect();
        let always = lines[0].iter().filter(|word| lines.iter().all(|line| line.contains(word)));
        let always: BTreeSet<String> = always.cloned().collect();
        let added =
            always.iter().filter(|word| word.starts_with("-li") || word.starts_with("-L/other"));
        let added: BTreeSet<String> = added.cloned().collect();
        let paths = always.iter().filter_map(|word| Some(&word[word.find(&root)?..]));
        let is_test = |path: &&str| path.contains("/gone") || path.ends_with("/x.o");
        let gone = paths.filter(is_test).filter(|path| !Path::new(path).exists());
        let gone: BTreeSet<String> = gone.map(str::to_owned).collect();
        seen += added.len() + gone.len();
        let report = audit(&lab, &["."]);
        compare(seed, &details(&report, "wrapper-injects-library"), &added, &mut differences);
        compare(seed, &details(&report, "text-missing-path"), &gone, &mut differences);
    }
    finish("specs against GCC", cases, seen, &differences);
}

/// Text files of a package, with paths to files of the package, of the system, or of neither.
fn staged_text(random: &mut Random, lab: &Lab) {
    let write = |tree: &str, file: &str, text: &str| {
        lab.write(&format!("{tree}/{file}"), text);
        let mut chmod = clean("chmod");
        assert!(
            chmod
                .arg("755")
                .arg(lab.path(&format!("{tree}/{file}")))
                .status()
                .is_ok_and(|status| status.success())
        );
    };
    for number in 0..4 {
        lab.mkdir(&format!("base/usr/lib/b{number}"));
        lab.mkdir(&format!("stage/usr/lib/s{number}"));
        write("base", &format!("usr/bin/b{number}"), "");
        write("stage", &format!("usr/bin/s{number}"), "");
    }
    let name = |random: &mut Random| {
        let letter = *random.pick(&["b", "s", "gone"]);
        format!("{letter}{}", random.below(4))
    };
    for number in 0..4 {
        let flags: Vec<String> = (0..random.between(2, 6))
            .map(|_| match random.below(5) {
                0 => format!("-l{}", name(random)),
                1 => format!("-isystem /usr/lib/{}", name(random)),
                2 => format!("-B/usr/lib/{}/", name(random)),
                3 => format!("-resource-dir=/usr/lib/{}", name(random)),
                _ => format!("-L /usr/lib/{}", name(random)),
            })
            .collect();
        let flags = flags.join(" ");
        write("stage", &format!("usr/lib/w{number}/nix-support/cc-cflags"), &flags);
        write("stage", &format!("usr/bin/x{number}-clang.cfg"), &flags);
        let script =
            format!("#!/usr/bin/{}\nexec /usr/bin/{} \"$@\"\n", name(random), name(random));
        write("stage", &format!("usr/bin/t{number}"), &script);
        let unit = format!("[Service]\nExecStart=/usr/bin/{}\n", name(random));
        write("stage", &format!("usr/lib/systemd/system/u{number}.service"), &unit);
        let path = format!("/usr/lib/{}\n", name(random));
        write("stage", &format!("usr/lib/python3/dist-packages/p{number}.pth"), &path);
    }
    let specs = format!("*lib:\n-l{} -L/usr/lib/{}\n\n", name(random), name(random));
    write("stage", "usr/lib/gcc/x86_64-linux-gnu/12/specs", &specs);
}

/// A stage over a system: the staged and the installed package have the same findings.
/// Directories with candidates (`--lib-path`) change nothing.
#[test]
fn staged_text_sees_the_system() {
    let (cases, mut seen, mut differences) = (seeds("LINKAUDIT_LOOSE", 12), 0, Vec::new());
    for seed in cases.clone() {
        let lab = Lab::new();
        staged_text(&mut Random::new(seed), &lab);
        let mut copy = clean("cp");
        copy.current_dir(lab.root()).args(["-a", "base", "installed"]);
        assert!(copy.status().is_ok_and(|status| status.success()));
        let mut copy = clean("cp");
        copy.current_dir(lab.root()).args(["-a", "stage/.", "installed"]);
        assert!(copy.status().is_ok_and(|status| status.success()));
        let findings = |args: &[&str]| {
            let report = audit(&lab, &[&["--isolated"], args].concat());
            let rules = ["text-missing-path", "wrapper-injects-library"];
            let found = rules.iter().flat_map(|rule| report.of_rule(rule));
            let words = found.map(|one| {
                format!("{} {} {}", text(&one["rule"]), text(&one["path"]), text(&one["message"]))
            });
            words.collect::<BTreeSet<String>>()
        };
        // Only the package has text files.
        let theirs = findings(&["--root", "installed", "/"]);
        seen += theirs.len();
        let staged = ["--root", "base", "--staged", "stage"];
        compare(seed, &findings(&staged), &theirs, &mut differences);
        let beside = [&staged[..], &["--lib-path", "/usr/lib"]].concat();
        compare(seed, &findings(&beside), &theirs, &mut differences);
        let beside = ["--root", "installed", "/", "--lib-path", "/usr/lib"];
        compare(seed, &findings(&beside), &theirs, &mut differences);
    }
    finish("text in a stage against the installed text", cases, seen, &differences);
}
