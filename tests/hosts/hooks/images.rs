//! Scripts that get their input as arguments or variables: Buildroot's, Yocto's task, the action of
//! GitHub, the job of GitLab, the stage of Jenkins, and the audit after upgrades.

use linkaudit::hooks::HookSystem;
use serde_json::Value;

use super::kit::{Kit, Payload, WAIVER};
use super::pages;
use crate::support::{clean, has, skip};

const INSTALL: &str = "make -s install DESTDIR=$LAB/stage || exit 99\n";

/// A system of its own: the payload with this machine's loader and C library.
const TARGET: &str = "make -s install DESTDIR=$LAB/target || exit 99
for file in $(ldd /bin/true | grep -o '/[^ ]*') /usr/lib/x86_64-linux-gnu/libc.so.6; do
  install -D \"$(readlink -f $file)\" $LAB/target$file
done\n";

#[test]
fn buildroot() {
    let build = format!("{TARGET}$LAB/hook/board/linkaudit/post-build.sh $LAB/target");
    let broken = Kit::new(Payload::Broken, &["buildroot"]).run(&build).expect(1).tells();
    pages::shows("buildroot", "board/linkaudit/post-build.sh output/target", &broken);
    Kit::new(Payload::Fixed, &["buildroot"]).run(&build).expect(0);
    let kit = Kit::new(Payload::Broken, &["buildroot"]);
    kit.lab.write("waiver.toml", WAIVER);
    kit.run(&format!("{build} --policy $LAB/waiver.toml")).expect(0);
    kit.run("LINKAUDIT=off $LAB/hook/board/linkaudit/post-build.sh $LAB/target").expect(0);
}

/// The task of the class, with the few parts of BitBake that it calls.
const BITBAKE: &str = r#"
import os, re, sys, types
text = open(sys.argv[1]).read()
body = re.search(r'^python do_linkaudit\(\) \{\n(.*?)^\}', text, re.M | re.S).group(1)
failed = []
qa = types.ModuleType("oe.qa")
qa.handle_error = lambda name, text, d: (failed.append(name), print(text))
qa.exit_if_errors = lambda d: sys.exit(1 if failed else 0)
oe = types.ModuleType("oe")
oe.qa = qa
sys.modules.update({"oe": oe, "oe.qa": qa})
class Data:
    def getVar(self, name):
        return os.environ.get(name)
space = {"os": os}
exec("def do_linkaudit(d):\n" + body, space)
space["do_linkaudit"](Data())
"#;

#[test]
fn yocto_task() {
    for (payload, more, status) in [
        (Payload::Broken, "", 1),
        (Payload::Fixed, "", 0),
        (Payload::Broken, "INSANE_SKIP=linkaudit", 0),
        (Payload::Broken, "LINKAUDIT_FLAGS=\"--policy $LAB/waiver.toml\"", 0),
    ] {
        let kit = Kit::new(payload, &["yocto"]);
        kit.lab.write("task.py", BITBAKE);
        kit.lab.write("waiver.toml", WAIVER);
        let run = format!(
            "{TARGET}rm -rf $LAB/target/usr/bin $LAB/target/usr/lib/libdemo.so.1\n{INSTALL}\
             RECIPE_SYSROOT=$LAB/target D=$LAB/stage {more} python3 $LAB/task.py $LAB/hook/classes/linkaudit.bbclass"
        );
        let ran = kit.run(&run).expect(status);
        if payload == Payload::Broken && more.is_empty() {
            pages::shows("yocto", "python3 task.py classes/linkaudit.bbclass", &ran.tells());
        }
    }
}

/// A report in JSON that a run left.
fn read(kit: &Kit, path: &str) -> Value {
    let text = std::fs::read(kit.lab.path(path)).expect("a report");
    serde_json::from_slice(&text).expect("JSON")
}

/// The value of a key in a YAML file of a system, printed by Python.
fn yaml(system: &str, expression: &str) -> String {
    let file = &HookSystem::named(system).expect("a system").files[0];
    let program = format!("import sys, yaml; d = yaml.safe_load(sys.argv[1]); print({expression})");
    let run = clean("python3").args(["-c", &program, file.text]).output().expect("Python runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).expect("text in UTF-8")
}

#[test]
fn github_action() {
    if !has("python3") {
        return skip("github_action", "there is no python3");
    }
    let step = yaml("github", "d['runs']['steps'][0]['run']");
    for (payload, flags, status) in [
        (Payload::Broken, "", 1),
        (Payload::Fixed, "", 0),
        (Payload::Broken, "--policy ../waiver.toml", 0),
    ] {
        let kit = Kit::new(payload, &[]);
        kit.install("github", "src");
        kit.lab.write("waiver.toml", WAIVER);
        kit.lab.write("step", &step);
        let ran = kit.run(&format!(
            "make -s install DESTDIR=$LAB/src/stage || exit 99
             export LINKAUDIT_PATHS= LINKAUDIT_STAGED=stage LINKAUDIT_FLAGS='{flags}'
             bash --noprofile --norc -e -o pipefail $LAB/step"
        ));
        let ran = ran.expect(status);
        assert!(kit.lab.path("src/linkaudit.json").is_file());
        let sarif = read(&kit, "src/linkaudit.sarif");
        let results = sarif["runs"][0]["results"].as_array().map_or(0, Vec::len);
        assert_eq!(results, if payload == Payload::Broken { 2 } else { 0 }, "{sarif}");
        if status == 1 {
            pages::shows("github", "bash action.sh", &ran);
            let annotation = "::error file=usr/lib/libdemo.so.1,line=1,title=undefined-symbol";
            let lines = ran.log.lines().filter(|line| line.starts_with(annotation));
            assert_eq!(lines.count(), 2, "annotations: {}", ran.log);
        }
    }
}

#[test]
fn gitlab_job() {
    if !has("python3") {
        return skip("gitlab_job", "there is no python3");
    }
    let script = yaml("gitlab", "'\\n'.join(d['linkaudit']['script'])");
    let command =
        script.trim().replace("\"$LINKAUDIT_STAGE\"", "stage").replace(" $LINKAUDIT_FLAGS", "");
    for (payload, status) in [(Payload::Broken, 1), (Payload::Fixed, 0)] {
        let run = format!(
            "make -s install DESTDIR=$LAB/src/stage || exit 99\nLINKAUDIT_STAGE=stage LINKAUDIT_FLAGS=\n{script}"
        );
        let kit = Kit::new(payload, &[]);
        let ran = kit.run(&run).expect(status);
        let quality = read(&kit, "src/linkaudit-quality.json");
        let issues = quality.as_array().expect("a list");
        assert_eq!(issues.len(), if status == 1 { 2 } else { 0 }, "{quality}");
        let path = |issue: &Value| issue["location"]["path"] == "usr/lib/libdemo.so.1";
        assert!(issues.iter().all(path), "{quality}");
        if status == 1 {
            pages::shows("gitlab", &command, &ran.tells());
        }
    }
}

#[test]
fn jenkins_stage() {
    let file = HookSystem::named("jenkins").expect("a system").files[0].text;
    let step = file.lines().find(|line| line.contains("linkaudit --")).expect("the step");
    let command = step.trim().trim_start_matches("sh '").trim_end_matches('\'');
    assert_eq!(file.matches('{').count(), file.matches('}').count());
    for (payload, status) in [(Payload::Broken, 1), (Payload::Fixed, 0)] {
        let run = format!(
            "make -s install DESTDIR=$LAB/src/stage || exit 99\nLINKAUDIT_FLAGS=\n{command}"
        );
        let kit = Kit::new(payload, &[]);
        let ran = kit.run(&run).expect(status);
        let tests = std::fs::read_to_string(kit.lab.path("src/linkaudit.xml")).expect("a file");
        assert_eq!(tests.matches("<failure").count(), if status == 1 { 2 } else { 0 }, "{tests}");
        if status == 1 {
            pages::shows("jenkins", &command.replace(" $LINKAUDIT_FLAGS", ""), &ran.tells());
        }
    }
}

/// An audit with mail, a baseline, and a finding that is new.
#[test]
fn audit_after_upgrades() {
    let kit = Kit::new(Payload::Broken, &["upgrade"]);
    // The script reads its settings from /etc, which is this machine's.
    let script = "set -e
        sed \"s#/etc/default/linkaudit#$LAB/settings#\" $LAB/hook/usr/local/sbin/linkaudit-upgrade > $LAB/bin/linkaudit-upgrade
        printf '#!/bin/sh\\ncat > %s\\n' $LAB/mail > $LAB/bin/mail
        chmod +x $LAB/bin/linkaudit-upgrade $LAB/bin/mail
        printf 'LINKAUDIT_PATHS=\"%s /absent\"\\nLINKAUDIT_BASELINE=%s\\nLINKAUDIT_MAILTO=root\\n' $LAB/inst $LAB/state/baseline > $LAB/settings
        make -s install DESTDIR=$LAB/inst LDFLAGS='-Wl,-rpath,\\$$ORIGIN/../lib'";
    kit.run(script).expect(0);
    let broken = kit.run("linkaudit-upgrade").expect(1).tells();
    pages::shows("upgrade", "linkaudit-upgrade", &broken);
    let mailed = std::fs::read_to_string(kit.lab.path("mail")).expect("a mail");
    assert!(mailed.contains("LLVMInitializeX86TargetInfo"), "{mailed}");
    kit.run("linkaudit-upgrade --accept").expect(0);
    let silent = kit.run("linkaudit-upgrade").expect(0);
    assert_eq!(silent.log, "");
    let other = "sed 's/X86TargetInfo/ARMTargetInfo/' demo.c > other.c
        cc -shared -fPIC other.c -o $LAB/inst/usr/lib/libother.so.1 -Wl,-soname,libother.so.1
        linkaudit-upgrade";
    let new = kit.run(other).expect(1);
    assert!(new.log.contains("LLVMInitializeARMTargetInfo"), "{}", new.log);
    // An unreadable file makes the audit incomplete, which is a warning and no failure.
    let incomplete = "rm $LAB/inst/usr/lib/libother.so.1
        head -c 40 $LAB/inst/usr/lib/libdemo.so.1 > $LAB/inst/usr/lib/libcut.so.1
        linkaudit-upgrade";
    let warned = kit.run(incomplete).expect(0);
    assert!(warned.log.contains("warning: the audit is incomplete (status 3)"), "{}", warned.log);
}
