//! A script for `ar -M`, run twice, also in the directory of the archive that it repairs.

use super::kit::{fix, text, three, tool};
use super::support;

#[test]
fn a_script_for_ar_may_run_twice() {
    let mut tools = vec!["ar"];
    if support::has("llvm-ar-19") {
        tools.push("llvm-ar-19");
    } else {
        support::skip("a_script_for_ar_may_run_twice", "needs llvm-ar-19");
    }
    let (mut runs, mut scripts) = (0, 0);
    for ar in tools {
        for dir in ["own", "elsewhere"] {
            let lab = three();
            lab.mkdir(dir);
            let run = fix(&lab, &["--deps-list", "deps.cmake", "--emit", "mri"]);
            assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
            lab.write("script", &run.stdout);
            let old = std::fs::read(lab.path("own/libfat.a")).expect("an archive");
            let mut before = None;
            for _ in 0..3 {
                tool(&lab, &format!("cd {dir}; {ar} -M <../script"));
                let members = tool(&lab, &format!("ar t {dir}/libfat.fixed.a | sort"));
                assert_eq!(members, "base.o\nbase2.o\none.o\ntwo.o\nuser.o\n", "{ar} in {dir}");
                let bytes = std::fs::read(lab.path(&format!("{dir}/libfat.fixed.a")));
                let bytes = bytes.expect("an archive");
                assert!(before.is_none_or(|before| before == bytes), "{ar} in {dir}");
                before = Some(bytes);
                runs += 1;
            }
            // The script does not change the defective archive: the user replaces it by the new
            // one.
            assert_eq!(std::fs::read(lab.path("own/libfat.a")).expect("an archive"), old);
            tool(&lab, &format!("cc -shared -o new.so -Wl,-u,user {dir}/libfat.fixed.a"));
            assert!(lab.undefined("new.so").is_empty(), "{ar} in {dir}");
            scripts += 1;
        }
    }
    println!("ar -M: {scripts} scripts, {runs} runs, 0 differences");
}
