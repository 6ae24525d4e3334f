//! Colours: on a terminal, always, never; `NO_COLOR` and `TERM=dumb`.

use super::kit::{Run, run, three_trees};
use crate::support::{Lab, clean, has, linkaudit, skip};

fn coloured(text: &str) -> bool {
    text.contains('\x1b')
}

/// The text without its colours.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut parts = text.split("\x1b[");
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        out.push_str(part.split_once('m').map_or("", |(_, rest)| rest));
    }
    out
}

#[test]
fn in_a_pipe() {
    let lab = three_trees();
    let auto = run(&lab, &["broken"]);
    assert!(!coloured(&auto.out));
    assert_eq!(run(&lab, &["broken", "--color", "auto"]).out, auto.out);
    assert_eq!(run(&lab, &["broken", "--color", "never"]).out, auto.out);
    let always = run(&lab, &["broken", "--color", "always"]);
    assert!(coloured(&always.out));
    assert_eq!(plain(&always.out), auto.out);
    assert_eq!(always.status, auto.status);
}

#[test]
fn machine_formats_have_none() {
    let lab = three_trees();
    for format in ["json", "ldd"] {
        let run = run(&lab, &["broken", "--color", "always", "--format", format]);
        assert!(!coloured(&run.out), "{format}");
    }
}

#[test]
fn an_option_is_stronger_than_the_environment() {
    let lab = three_trees();
    let output = linkaudit()
        .current_dir(lab.root())
        .env("NO_COLOR", "1")
        .args(["broken", "--color", "always"])
        .output()
        .expect("linkaudit runs");
    assert!(coloured(&Run::new(&output).out));
}

#[test]
fn help_and_errors_about_options() {
    let lab = Lab::new();
    for args in [&["--help"][..], &["-h"], &["tree", "--help"], &["help", "tree"]] {
        let auto = run(&lab, args);
        assert!(!coloured(&auto.out), "{args:?}");
        let always = run(&lab, &[&["--color", "always"], args].concat());
        assert!(coloured(&always.out), "{args:?}");
        assert_eq!(plain(&always.out), auto.out, "{args:?}");
    }
    assert!(coloured(&run(&lab, &["check", "--nosuch", "--color=always"]).err));
}

/// Messages, errors of the command line, help and reports obey one decision.
#[test]
fn messages_are_coloured_as_reports() {
    let lab = three_trees();
    let lines: [&[&str]; 4] =
        [&["nosuch"], &["fine", "--nosuch"], &["policy"], &["gpu", "fine", "--target", "gfx999"]];
    let stderr = |args: &[&str], environment: &[(&str, &str)]| {
        let mut command = linkaudit();
        command.current_dir(lab.root()).env_remove("NO_COLOR").envs(environment.iter().copied());
        Run::new(&command.args(args).output().expect("linkaudit runs")).err
    };
    for line in lines {
        let auto = stderr(line, &[]);
        assert!(!auto.is_empty() && !coloured(&auto), "{auto:?}");
        for forced in ["FORCE_COLOR", "CLICOLOR_FORCE"] {
            let text = stderr(line, &[(forced, "1")]);
            assert!(coloured(&text), "{forced} {text:?}");
            assert_eq!(plain(&text), auto);
            assert_eq!(stderr(line, &[(forced, "1"), ("NO_COLOR", "1")]), auto);
        }
        assert!(coloured(&stderr(&[line, &["--color", "always"]].concat(), &[])));
    }
    let text = run(&lab, &["nosuch", "--color", "always"]).err;
    assert!(text.starts_with("\x1b[1;31merror:\x1b[0m nosuch"), "{text:?}");
    let help = |environment: (&str, &str)| {
        let mut command = linkaudit();
        command.current_dir(lab.root()).env_remove("NO_COLOR").envs([environment]);
        Run::new(&command.arg("--help").output().expect("linkaudit runs")).out
    };
    assert!(coloured(&help(("FORCE_COLOR", "1"))));
    assert!(!coloured(&help(("FORCE_COLOR", "0"))));
}

#[test]
fn words_of_the_environment() {
    let lab = three_trees();
    let cases: [(&[(&str, &str)], bool); 8] = [
        (&[("CLICOLOR_FORCE", "1")], true),
        (&[("FORCE_COLOR", "1")], true),
        (&[("FORCE_COLOR", "3")], true),
        (&[("CLICOLOR_FORCE", "0")], false),
        (&[("FORCE_COLOR", "")], false),
        (&[("CLICOLOR", "1")], false),
        (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        (&[("FORCE_COLOR", "1"), ("TERM", "dumb")], true),
    ];
    for (environment, expected) in cases {
        let mut command = linkaudit();
        command.current_dir(lab.root()).env_remove("NO_COLOR").envs(environment.iter().copied());
        let output = command.arg("broken").output().expect("linkaudit runs");
        assert_eq!(coloured(&Run::new(&output).out), expected, "{environment:?}");
    }
}

/// The output on a terminal, which `script` provides.
fn on_terminal(lab: &Lab, environment: &[(&str, &str)], options: &str) -> String {
    let program = env!("CARGO_BIN_EXE_linkaudit");
    let mut command = clean("script");
    command.current_dir(lab.root()).env_remove("NO_COLOR").env("TERM", "xterm");
    command.envs(environment.iter().copied());
    command.args(["-q", "-e", "-c", &format!("'{program}' broken {options}"), "typescript"]);
    let output = command.output().expect("script runs");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text in UTF-8")
}

#[test]
fn on_a_terminal() {
    if !has("script") {
        return skip("on_a_terminal", "there is no program `script`");
    }
    let lab = three_trees();
    assert!(coloured(&on_terminal(&lab, &[], "")));
    assert!(coloured(&on_terminal(&lab, &[], "--color auto")));
    assert!(!coloured(&on_terminal(&lab, &[], "--color never")));
    assert!(!coloured(&on_terminal(&lab, &[("NO_COLOR", "1")], "")));
    assert!(coloured(&on_terminal(&lab, &[("NO_COLOR", "")], "")));
    assert!(!coloured(&on_terminal(&lab, &[("TERM", "dumb")], "")));
    assert!(!coloured(&on_terminal(&lab, &[("FORCE_COLOR", "0")], "")));
    assert!(coloured(&on_terminal(&lab, &[("NO_COLOR", "1")], "--color always")));
    assert!(!coloured(&on_terminal(&lab, &[], "--format json")));
}
