//! Lines of a baseline that fail the run, in each output.

use super::baseline::fixed;
use super::kit::run;

/// Outputs without findings do not deny that a stale line fails the run. The path of the line is
/// relative to the current directory, as the paths of findings are.
#[test]
fn a_failing_line_is_in_each_output() {
    let lab = fixed();
    let finding = "libb.so: error: line 2 of the baseline: undefined-symbol libb.so two";
    for (format, expected) in [
        ("human", "no findings, but 1 stale baseline line fails the run: "),
        ("table", "no findings, but 1 stale baseline line fails the run: "),
        ("markdown", "## linkaudit: 1 stale baseline line\n"),
        ("markdown", "- line 2 of the baseline: undefined-symbol libb.so two\n"),
        ("gcc", &format!("p/{finding} [stale-baseline-line]\n")),
        ("gitlab", "\"path\":\"p/libb.so\""),
    ] {
        let run = |more: &[&str]| {
            let args = ["p", "--baseline", "known", "--format", format];
            run(&lab, &[&args[..], more].concat())
        };
        let strict = run(&["--fail-on-stale"]);
        let said = strict.out.replace("\": \"", "\":\"");
        assert_eq!(strict.status, 1, "{format}");
        assert!(said.contains(expected), "{format}: {said}");
        assert!(!said.contains("nothing wrong"), "{format}: {said}");
        let loose = run(&[]);
        assert_eq!(loose.status, 0, "{format}");
        assert!(!loose.out.contains(expected), "{format}: {}", loose.out);
    }
}
