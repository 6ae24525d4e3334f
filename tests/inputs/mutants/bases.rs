//! The files that are mutated: a few built here, one for each kind of table that the reader
//! follows, and a few small ones of this machine.
//!
//! They need only libc and libm, so that a finding about a mutant is about its damage.

use std::path::Path;

use crate::support::{self, Lab};

pub struct Base {
    pub name: String,
    pub bytes: Vec<u8>,
}

const VERSIONED: &str = r#"
#include <stdio.h>
#include <math.h>
int old_f(void) { return 1; }
int new_f(void) { return 2; }
__asm__(".symver old_f, f@V1");
__asm__(".symver new_f, f@@V2");
int data = 3;
__thread int counter;
__attribute__((weak)) int weak_f(void) { return 0; }
__attribute__((visibility("protected"))) int protected_f(void) { return 0; }
int g(double x) { puts("x"); return counter + data + (int) pow(x, 2.5); }
"#;

const PLAIN: &str = r"
extern int printf(const char *, ...);
extern int nowhere(void) __attribute__((weak));
int table[4] = { 1, 2, 3, 4 };
int first(void) { return table[0]; }
int second(void) { return nowhere ? nowhere() : printf(0); }
int third(void) { return first() + second(); }
";

const PROGRAM: &str = r"
#include <stdio.h>
#include <math.h>
int exported = 1;
int main(int argc, char **argv) { fprintf(stderr, argv[0]); return pow(argc, 2.5) > exported; }
";

const SCRIPT: &str = "V1 { global: g; data; };\nV2 { global: weak_f; counter; } V1;\n";

/// Small files that many machines have.
const FOUND: [&str; 8] = [
    "/usr/bin/true",
    "/usr/bin/yes",
    "/usr/bin/getconf",
    "/usr/bin/env",
    "/usr/lib/x86_64-linux-gnu/libdl.so.2",
    "/usr/lib/x86_64-linux-gnu/libutil.so.1",
    "/usr/lib/x86_64-linux-gnu/libanl.so.1",
    "/usr/lib/x86_64-linux-gnu/libBrokenLocale.so.1",
];

pub fn build(lab: &Lab) -> Vec<Base> {
    lab.write("script", SCRIPT);
    let versions = "-Wl,--version-script=$PWD/script";
    let mut paths = vec![
        lab.so(
            "versions.so",
            VERSIONED,
            &[versions, "-Wl,-soname,libversions.so.1,-rpath,$ORIGIN/../lib", "-lm"],
        ),
        lab.so(
            "sysv.so",
            PLAIN,
            &["-Wl,--hash-style=sysv,-soname,libsysv.so,--disable-new-dtags,-rpath,/opt/lib:/lib"],
        ),
        lab.so("both.so", PLAIN, &["-Wl,--hash-style=both,-z,now,-Bsymbolic"]),
        lab.so("alone.so", "int alone(void) { return 1; }", &["-nostdlib", "-Wl,-soname,alone"]),
        lab.exe("pie", PROGRAM, &["-pie", "-fPIE", "-lm", "-Wl,-E"]),
        lab.exe("fixed", PROGRAM, &["-no-pie", "-lm", "-Wl,-z,noseparate-code"]),
    ];
    if builds_32_bit(lab) {
        let narrow = ["-m32", "-Wl,-soname,libnarrow.so.1", "-lm", versions];
        paths.push(lab.so("narrow.so", VERSIONED, &narrow));
    } else {
        support::skip("mutants_32_bit", "needs a 32-bit compiler");
    }
    let small = |path: &&Path| path.metadata().is_ok_and(|metadata| metadata.len() < 100_000);
    paths.extend(FOUND.iter().map(Path::new).filter(small).take(4).map(Path::to_path_buf));
    paths
        .iter()
        .map(|path| Base {
            name: path.file_name().expect("a file").to_string_lossy().into_owned(),
            bytes: std::fs::read(path).expect("a base file"),
        })
        .collect()
}

fn builds_32_bit(lab: &Lab) -> bool {
    let source = lab.write("narrow.c", "#include <stdio.h>\n");
    let mut cc = support::clean("cc");
    cc.args(["-m32", "-shared", "-fPIC", "-o"]).arg(lab.path("narrow.test")).arg(source);
    cc.output().is_ok_and(|output| output.status.success())
}
