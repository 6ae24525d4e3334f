//! Host programs that are inferred: the conditions for an object to be a plugin of an audited
//! program, and each condition that keeps a lost symbol a finding. The real `dlopen` must open
//! every plugin without findings.

use super::kit::{at, of_rule, only, report, run, summary, text};
use crate::support::{Lab, clean};
use serde_json::{Value, json};

const HEAD: &str = "#include <dlfcn.h>\n#include <stdio.h>\n";
/// Opens its argument, and prints the error if it cannot.
const OPENS: &str = "int main(int n, char **v) { if (n < 2) return 3; \
    if (!dlopen(v[1], RTLD_NOW)) { puts(dlerror()); return 1; } return 0; }";
const PLUGIN: &str = "int host_call(void); int plugin(void) { return host_call(); }";

/// A program that exports `host_call` and opens plugins, and such a plugin.
fn daemon() -> Lab {
    let lab = Lab::new();
    program(&lab, "app/bin/daemon", "int host_call(void) { return 1; }", &["-rdynamic"]);
    lab.so("app/lib/daemon/cpu.so", PLUGIN, &[]);
    lab
}

fn program(lab: &Lab, name: &str, defines: &str, flags: &[&str]) {
    lab.exe(name, &format!("{HEAD}{defines}\n{OPENS}"), flags);
}

/// The inferred hosts: program and plugins.
fn inferred(report: &Value) -> Vec<(String, Vec<String>)> {
    let list = report["assumptions"].as_array().expect("assumptions");
    let hosts = list.iter().filter(|assumption| assumption["by"] == "inferred-host");
    let paths = |host: &Value| {
        let plugins = host["plugins"].as_array().expect("plugins");
        plugins.iter().map(|plugin| text(&plugin["path"]).to_owned()).collect()
    };
    hosts.map(|host| (text(&host["name"]).to_owned(), paths(host))).collect()
}

/// Fails unless this program is inferred for the plugin, and can really open it.
#[track_caller]
fn excused(lab: &Lab, args: &[&str], program: &str, plugin: &str) {
    let report = report(lab, args);
    assert_eq!(summary(&report), Vec::<String>::new());
    assert_eq!(inferred(&report), [(at(lab, program), vec![at(lab, plugin)])]);
    let opened = clean(lab.path(program)).arg(lab.path(plugin)).output().expect("the program");
    assert!(opened.status.success(), "{}", String::from_utf8_lossy(&opened.stdout));
}

/// Fails unless the plugin's symbol is a finding.
#[track_caller]
fn found(lab: &Lab, args: &[&str], symbol: &str) {
    let report = report(lab, args);
    assert_eq!(inferred(&report), []);
    let undefined = of_rule(&report, "undefined-symbol");
    assert!(undefined.iter().any(|finding| finding["symbol"] == symbol), "{}", report["findings"]);
}

#[test]
fn a_plugin_takes_all_from_one_program() {
    let lab = daemon();
    excused(&lab, &["app"], "app/bin/daemon", "app/lib/daemon/cpu.so");
    let report = report(&lab, &["app"]);
    assert_eq!(report["totals"]["assumed"], 1);
    let human = run(&lab, &["app", "-v"]).out;
    let line = format!("--host {}=lib/daemon/cpu.so", at(&lab, "app/bin/daemon"));
    assert!(human.contains(&line), "{human}");
    // With the printed option, the plugin is resolved in the scope of the program.
    let stated = run(&lab, &["app", "--host", line.strip_prefix("--host ").expect("an option")]);
    assert_eq!(stated.status, 0, "{}", stated.out);
    assert!(!stated.out.contains("assumed"), "{}", stated.out);
}

#[test]
fn the_option_reports_them() {
    let lab = daemon();
    found(&lab, &["app", "--no-inferred-hosts"], "host_call");
}

#[test]
fn one_lost_symbol_is_enough() {
    let lab = daemon();
    let source = "int host_call(void); int host_cal(void);\n\
        int plugin(void) { return host_call() + host_cal(); }";
    lab.so("app/lib/daemon/cpu.so", source, &[]);
    found(&lab, &["app"], "host_cal");
    found(&lab, &["app"], "host_call");
}

#[test]
fn a_library_with_a_versioned_soname_is_no_plugin() {
    let lab = daemon();
    lab.so("app/lib/daemon/cpu.so", PLUGIN, &["-Wl,-soname,libcpu.so.1"]);
    found(&lab, &["app"], "host_call");
    lab.so("app/lib/daemon/cpu.so", PLUGIN, &["-Wl,-soname,cpu.so"]);
    excused(&lab, &["app"], "app/bin/daemon", "app/lib/daemon/cpu.so");
}

#[test]
fn a_library_in_a_default_directory_is_no_plugin() {
    let lab = daemon();
    let libc = "/lib/x86_64-linux-gnu";
    for (file, place) in [("ld-linux-x86-64.so.2", "lib64"), ("libc.so.6", &libc[1..])] {
        let bytes = std::fs::read(format!("{libc}/{file}")).expect("the libc");
        lab.write(&format!("sys/{place}/{file}"), bytes);
    }
    let copy = |from: &str, to: &str| {
        lab.write(to, std::fs::read(lab.path(from)).expect("a file"));
    };
    copy("app/bin/daemon", "sys/usr/bin/daemon");
    copy("app/lib/daemon/cpu.so", "sys/usr/lib/x86_64-linux-gnu/cpu.so");
    found(&lab, &["--root", "sys", "/usr"], "host_call");
    std::fs::remove_file(lab.path("sys/usr/lib/x86_64-linux-gnu/cpu.so")).expect("the file");
    copy("app/lib/daemon/cpu.so", "sys/usr/lib/x86_64-linux-gnu/daemon/cpu.so");
    assert_eq!(summary(&report(&lab, &["--root", "sys", "/usr"])), Vec::<String>::new());
}

#[test]
fn a_program_that_opens_nothing_is_no_host() {
    let lab = daemon();
    let source = "int host_call(void) { return 1; } int main(void) { return 0; }";
    lab.exe("app/bin/daemon", source, &["-rdynamic"]);
    found(&lab, &["app"], "host_call");
}

/// As in Debian 11's perl, modules use functions of a library that many programs load.
#[test]
fn names_of_a_host_in_the_policy_are_evidence() {
    let lab = Lab::new();
    lab.so(
        "app/lib/libshared.so.0",
        "int shared_key(void) { return 1; }",
        &["-Wl,-soname,libshared.so.0"],
    );
    let shared = lab.path("app/lib/libshared.so.0").display().to_string();
    let flags = ["-rdynamic", "-Wl,--no-as-needed", &shared, "-Wl,-rpath,$ORIGIN/../lib"];
    for name in ["one", "two", "three", "four"] {
        program(&lab, &format!("app/bin/{name}"), "", &flags);
    }
    let module = "int Perl_call(void); int shared_key(void);\n\
        int boot_Key(void) { return Perl_call() + shared_key(); }";
    let plugin = "app/share/perl5/auto/Key/Key.so";
    lab.so(plugin, module, &[]);
    let alone = report(&lab, &["app"]);
    let undefined = of_rule(&alone, "undefined-symbol").into_iter();
    let names: Vec<&str> = undefined.map(|finding| text(&finding["symbol"])).collect();
    assert_eq!(names, ["shared_key"]);

    program(&lab, "app/bin/perl", "int Perl_call(void) { return 1; }", &flags);
    excused(&lab, &["app"], "app/bin/perl", plugin);
    let lost = module.replace("shared_key", "shared_kee");
    lab.so(plugin, &lost, &[]);
    found(&lab, &["app"], "shared_kee");
}

#[test]
fn many_programs_tell_nothing() {
    let lab = Lab::new();
    lab.so("app/lib/plugins/cpu.so", PLUGIN, &[]);
    for name in ["one", "two", "three"] {
        let name = format!("app/bin/{name}");
        program(&lab, &name, "int host_call(void) { return 1; }", &["-rdynamic"]);
    }
    excused(&lab, &["app"], "app/bin/one", "app/lib/plugins/cpu.so");
    program(&lab, "app/bin/four", "int host_call(void) { return 1; }", &["-rdynamic"]);
    found(&lab, &["app"], "host_call");
}

#[test]
fn a_directory_with_the_name_of_the_programs_tells() {
    let lab = Lab::new();
    lab.so("app/lib/emu/cpu.so", PLUGIN, &[]);
    for name in ["emu-arm", "emu-mips", "emu-ppc", "emu-x86", "other"] {
        let name = format!("app/bin/{name}");
        program(&lab, &name, "int host_call(void) { return 1; }", &["-rdynamic"]);
    }
    excused(&lab, &["app"], "app/bin/emu-arm", "app/lib/emu/cpu.so");
    lab.so("app/lib/em/cpu.so", PLUGIN, &[]);
    std::fs::remove_file(lab.path("app/lib/emu/cpu.so")).expect("the plugin");
    found(&lab, &["app"], "host_call");
}

#[test]
fn a_private_library_beside_the_plugin_tells() {
    let lab = Lab::new();
    lab.so(
        "app/lib/d/libpriv.so",
        "int host_call(void) { return 1; }",
        &["-Wl,-soname,libpriv.so"],
    );
    let flags = ["-Wl,--no-as-needed", "-Lapp/lib/d", "-lpriv", "-Wl,-rpath,$ORIGIN/../lib/d"];
    for number in 0..6 {
        program(&lab, &format!("app/bin/tool{number}"), "", &flags);
    }
    lab.so("app/lib/d/plugins/cpu.so", PLUGIN, &[]);
    excused(&lab, &["app"], "app/bin/tool0", "app/lib/d/plugins/cpu.so");
    lab.so("app/other/cpu.so", PLUGIN, &[]);
    std::fs::remove_file(lab.path("app/lib/d/plugins/cpu.so")).expect("the plugin");
    found(&lab, &["app"], "host_call");
}

#[test]
fn a_library_that_the_program_has_loaded_is_not_missing() {
    let lab = Lab::new();
    lab.so("app/lib/libpriv.so", "int host_call(void) { return 1; }", &["-Wl,-soname,libpriv.so"]);
    let link = ["-Wl,--no-as-needed", "-Lapp/lib", "-lpriv"];
    program(&lab, "app/bin/daemon", "", &[&link[..], &["-Wl,-rpath,$ORIGIN/../lib"]].concat());
    lab.so("app/lib/daemon/cpu.so", PLUGIN, &link);
    excused(&lab, &["app"], "app/bin/daemon", "app/lib/daemon/cpu.so");
    let stated = report(&lab, &["app", "--no-inferred-hosts"]);
    assert_eq!(only(&stated, "missing-library")["library"], "libpriv.so");
    // Another library is missing too.
    lab.so("app/lib/libgone.so", "int gone(void) { return 1; }", &[]);
    lab.so("app/lib/daemon/cpu.so", PLUGIN, &[&link[..], &["-lgone"]].concat());
    std::fs::remove_file(lab.path("app/lib/libgone.so")).expect("the library");
    let report = report(&lab, &["app"]);
    assert_eq!(inferred(&report), []);
    assert_eq!(of_rule(&report, "missing-library").len(), 2);
}

#[test]
fn an_object_that_forgot_a_common_library_is_none() {
    let lab = Lab::new();
    program(&lab, "app/bin/daemon", "", &["-Wl,--no-as-needed", "-l:libz.so.1"]);
    lab.so("app/lib/x.so", "int deflateEnd(void *); int x(void) { return deflateEnd(0); }", &[]);
    found(&lab, &["app"], "deflateEnd");
}

#[test]
fn what_an_archive_or_a_policy_claims_was_lost() {
    let lab = daemon();
    let policy = "schema = 1\n[[provider]]\nsymbol = \"host_{T}\"\narchive = \"x{T}\"\n";
    lab.write("policy.toml", policy);
    found(&lab, &["app", "--policy", "policy.toml"], "host_call");
    lab.write("host.c", "int host_call(void) { return 2; }");
    let made = lab.sh("gcc -c host.c -o host.o && ar rcs app/lib/libhost.a host.o");
    assert!(made.status.success());
    found(&lab, &["app"], "host_call");
}

#[test]
fn a_version_must_be_there() {
    let lab = Lab::new();
    lab.write("one", "V1 { global: host_call; };\n");
    lab.write("two", "V2 { global: host_call; };\n");
    let library = "int host_call(void) { return 1; }";
    let versions = |file: &str| format!("-Wl,--version-script=$PWD/{file}");
    let soname = "-Wl,-soname,libpriv.so";
    lab.so("build/libpriv.so", library, &[&versions("one"), soname]);
    lab.so("app/lib/libpriv.so", library, &[&versions("two"), soname]);
    let link = ["-Wl,--no-as-needed", "-Lapp/lib", "-lpriv", "-Wl,-rpath,$ORIGIN/../lib"];
    program(&lab, "app/bin/daemon", "", &link);
    let built = ["-Wl,--no-as-needed", "-Lbuild", "-lpriv"];
    lab.so("app/lib/daemon/cpu.so", PLUGIN, &built);
    let report = report(&lab, &["app"]);
    assert_eq!(inferred(&report), []);
    assert_ne!(report["findings"], json!([]));
}

#[test]
fn a_library_of_a_program_is_judged_by_itself() {
    let lab = daemon();
    lab.so("app/lib/libused.so", PLUGIN, &[]);
    let flags = ["-Wl,--no-as-needed", "-Lapp/lib", "-lused", "-Wl,-rpath,$ORIGIN/../lib"];
    lab.exe(
        "app/bin/other",
        "int host_call(void) { return 1; } int main(void) { return 0; }",
        &flags,
    );
    let report = report(&lab, &["app"]);
    let undefined = of_rule(&report, "undefined-symbol");
    assert!(undefined.iter().all(|finding| finding["path"] != "lib/daemon/cpu.so"));
}

/// A system with the libc of this machine below `sys`, in which `libkit` opens plugins for five
/// programs.
fn system() -> Lab {
    let lab = Lab::new();
    let libc = "/lib/x86_64-linux-gnu";
    for (file, place) in [("ld-linux-x86-64.so.2", "lib64"), ("libc.so.6", &libc[1..])] {
        let bytes = std::fs::read(format!("{libc}/{file}")).expect("the libc");
        lab.write(&format!("sys/{place}/{file}"), bytes);
    }
    let source = "#include <dlfcn.h>\nint host_call(void) { return 1; } \
        void *kit_open(const char *name) { return dlopen(name, RTLD_NOW); }";
    lab.so("sys/usr/lib/libkit.so.2", source, &["-Wl,-soname,libkit.so.2"]);
    for name in ["a", "b", "c", "d", "e"] {
        let flags = ["-Wl,--no-as-needed", "-Lsys/usr/lib", "-l:libkit.so.2"];
        lab.exe(&format!("sys/usr/bin/{name}"), "int main(void) { return 0; }", &flags);
    }
    lab
}

/// The hosts in the system, or the undefined symbols.
fn hosts(lab: &Lab) -> Vec<String> {
    let report = report(lab, &["--root", "sys", "/usr"]);
    let undefined = of_rule(&report, "undefined-symbol");
    let names = undefined.iter().map(|finding| text(&finding["symbol"]).to_owned());
    inferred(&report).into_iter().map(|(host, _)| host).chain(names).collect()
}

#[test]
fn a_library_opens_the_plugins_in_the_directory_with_its_name() {
    let lab = system();
    lab.so("sys/usr/lib/kit/cpu.so", PLUGIN, &[]);
    assert_eq!(hosts(&lab), ["/usr/lib/libkit.so.2"]);
    lab.so("sys/usr/lib/kit/cpu.so", "int gone(void); int plugin(void) { return gone(); }", &[]);
    assert_eq!(hosts(&lab), ["gone"]);
    std::fs::remove_file(lab.path("sys/usr/lib/kit/cpu.so")).expect("the plugin");
    lab.so("sys/usr/lib/kits/cpu.so", PLUGIN, &[]);
    assert_eq!(hosts(&lab), ["host_call"]);
}

#[test]
fn a_versioned_soname_in_a_directory_of_plugins_is_one_of_libtool() {
    let lab = system();
    let soname = "-Wl,-soname,libcpu.so.0";
    program(&lab, "sys/usr/bin/tool", "int tool_call(void) { return 1; }", &["-rdynamic"]);
    let source = "int tool_call(void); int plugin(void) { return tool_call(); }";
    lab.so("sys/usr/lib/other/libcpu.so.0.0.0", source, &[soname]);
    assert_eq!(hosts(&lab), ["/usr/bin/tool"]);
    // A program links with another library of the directory.
    lab.so("sys/usr/lib/other/libx.so.1", "int x(void) { return 1; }", &["-Wl,-soname,libx.so.1"]);
    let flags = ["-Wl,--no-as-needed", "-Lsys/usr/lib/other", "-l:libx.so.1"];
    let path = "-Wl,-rpath,/usr/lib/other";
    lab.exe("sys/usr/bin/f", "int main(void) { return 0; }", &[&flags[..], &[path]].concat());
    assert_eq!(hosts(&lab), ["tool_call"]);
    std::fs::rename(lab.path("sys/usr/lib/other"), lab.path("sys/usr/lib/tool")).expect("a name");
    let path = "-Wl,-rpath,/usr/lib/tool";
    let flags = ["-Wl,--no-as-needed", "-Lsys/usr/lib/tool", "-l:libx.so.1", path];
    lab.exe("sys/usr/bin/f", "int main(void) { return 0; }", &flags);
    assert_eq!(hosts(&lab), ["/usr/bin/tool"]);
}

#[test]
fn a_program_with_the_name_of_the_directory_brings_its_libraries() {
    let lab = system();
    let flags = ["-Wl,--no-as-needed", "-Lsys/usr/lib", "-l:libkit.so.2"];
    lab.exe("sys/usr/bin/tool", "int main(void) { return 0; }", &flags);
    lab.so("sys/usr/lib/tool/filters/cpu.so", PLUGIN, &[]);
    assert_eq!(hosts(&lab), ["/usr/bin/tool"]);
    std::fs::remove_file(lab.path("sys/usr/bin/tool")).expect("the program");
    lab.exe("sys/usr/lib/tool/main", "int main(void) { return 0; }", &flags);
    assert_eq!(hosts(&lab), ["/usr/lib/tool/main"]);
}

#[test]
fn a_plugin_takes_symbols_of_another_plugin_in_another_directory() {
    let lab = daemon();
    let core = "int host_call(void); int core_call(void) { return host_call(); }";
    lab.so("app/lib/daemon/core.so", core, &[]);
    std::fs::remove_file(lab.path("app/lib/daemon/cpu.so")).expect("the plugin");
    let define = "int host_call(void) { return 1; } int host_more(void) { return 1; }";
    program(&lab, "app/bin/daemon", define, &["-rdynamic"]);
    let source = "int host_call(void), host_more(void), core_call(void);\n\
        int plugin(void) { return host_call() + host_more() + core_call(); }";
    lab.so("app/share/perl/auto/cpu.so", source, &[]);
    let found = inferred(&report(&lab, &["app"]));
    let paths = vec![at(&lab, "app/lib/daemon/core.so"), at(&lab, "app/share/perl/auto/cpu.so")];
    assert_eq!(found, [(at(&lab, "app/bin/daemon"), paths)]);
    // The program must define more than the other plugin.
    let source = "int host_call(void), core_call(void); \
        int plugin(void) { return host_call() + core_call(); }";
    lab.so("app/share/perl/auto/cpu.so", source, &[]);
    let report = report(&lab, &["app"]);
    assert_eq!(of_rule(&report, "undefined-symbol").len(), 2, "{}", report["findings"]);
}

#[test]
fn a_plugin_of_a_known_program_takes_symbols_of_its_neighbour() {
    let lab = Lab::new();
    let own = "int zend_parse(void); int get_module(void) { return zend_parse(); }";
    lab.so("app/lib/php/20220829/base.so", &format!("{own} int mbfl_x(void) {{ return 1; }}"), &[]);
    let source = format!("int mbfl_x(void); {own} int more(void) {{ return mbfl_x(); }}");
    lab.so("app/lib/php/20220829/mail.so", &source, &[]);
    let report = report(&lab, &["app"]);
    assert_eq!(summary(&report), Vec::<String>::new());
    let paths = vec![at(&lab, "app/lib/php/20220829/mail.so")];
    assert_eq!(inferred(&report), [(at(&lab, "app/lib/php/20220829/base.so"), paths)]);
    std::fs::remove_file(lab.path("app/lib/php/20220829/base.so")).expect("the plugin");
    found(&lab, &["app"], "mbfl_x");
}

/// A Java home in miniature: a library that needs the virtual machine, which is outside of all
/// search paths.
fn java_home() -> Lab {
    let lab = Lab::new();
    let machine = "int JVM_Go(void) { return 1; }";
    lab.so("jdk/lib/server/libjvm.so", machine, &["-Wl,-soname,libjvm.so"]);
    let source = "int JVM_Go(void); int Java_go(void) { return JVM_Go(); }";
    let link = ["-Wl,--no-as-needed", "-Ljdk/lib/server", "-ljvm"];
    lab.so("jdk/lib/libjava.so", source, &link);
    lab
}

#[test]
fn a_library_that_hosts_load_first_is_found_beside_the_plugin() {
    let lab = java_home();
    let found = report(&lab, &["jdk"]);
    assert_eq!(summary(&found), Vec::<String>::new());
    // Nothing is assumed: the file is there.
    assert_eq!(found["totals"]["assumed"], 0);
    let loads = found["files"].as_array().expect("files").iter();
    let java = loads.clone().find(|file| text(&file["path"]).ends_with("libjava.so"));
    let need = &java.expect("the library")["needed"][0];
    assert_eq!((text(&need["name"]), text(&need["how"])), ("libjvm.so", "loaded"));
}

#[test]
fn a_symbol_that_the_loaded_library_lacks_is_a_finding() {
    let lab = java_home();
    let source =
        "int JVM_Go(void); int gone(void); int Java_go(void) { return JVM_Go() + gone(); }";
    let link = ["-Wl,--no-as-needed", "-Ljdk/lib/server", "-ljvm"];
    lab.so("jdk/lib/libjava.so", source, &link);
    assert_eq!(only(&report(&lab, &["jdk"]), "undefined-symbol")["symbol"], "gone");
}

#[test]
fn a_library_that_hosts_load_first_and_that_is_not_there_is_assumed() {
    let lab = java_home();
    std::fs::remove_file(lab.path("jdk/lib/server/libjvm.so")).expect("the library");
    let report = report(&lab, &["jdk"]);
    assert_eq!(summary(&report), Vec::<String>::new());
    // The library and one symbol of it.
    assert_eq!(report["totals"]["assumed"], 2);
    assert_eq!(report["totals"]["assumed_by_host"], json!({ "jni": 2 }));
    assert_eq!(report["totals"]["explained"], 0);
}

#[test]
fn a_library_given_as_host_stands_for_programs_that_load_it() {
    let lab = java_home();
    let rename = |from: &str, to: &str| {
        std::fs::create_dir_all(lab.path(to).parent().expect("a directory")).expect("a directory");
        std::fs::rename(lab.path(from), lab.path(to)).expect("a file");
    };
    rename("jdk/lib/server/libjvm.so", "vm/libjvm.so");
    rename("jdk/lib/libjava.so", "app/native.so");
    let hosted = report(&lab, &["app", "--host", "vm/libjvm.so"]);
    assert_eq!(summary(&hosted), Vec::<String>::new());
    assert_eq!(hosted["totals"]["assumed"], 0);
    // An entry of a policy has the same effect for any library.
    lab.so("app/other/libeng.so", "int eng(void) { return 1; }", &["-Wl,-soname,libeng.so"]);
    let source = "int eng(void); int plug_init(void) { return eng(); }";
    lab.so("app/plug.so", source, &["-Wl,--no-as-needed", "-Lapp/other", "-leng"]);
    let policy = "schema = 1\n[[host]]\nname = \"eng\"\nexports = [\"plug_init\"]\n\
        loads = [\"other/libeng.so\"]\n";
    lab.write("policy.toml", policy);
    let with = ["app", "--policy", "policy.toml", "--host", "vm/libjvm.so=native.so"];
    let found = report(&lab, &with);
    assert_eq!(summary(&found), Vec::<String>::new());
    assert_eq!(found["totals"]["assumed"], 0);
}

/// An extension of PyTorch, which has no search path, beside PyTorch's libraries.
fn torch_extension() -> Lab {
    let lab = Lab::new();
    let dir = "app/lib/python3.12/site-packages";
    let libraries = format!("{dir}/torch/lib");
    let own = ["-Wl,-soname,libc10.so"];
    lab.so(&format!("{libraries}/libc10.so"), "int c10(void) { return 1; }", &own);
    let path = format!("-L{libraries}");
    let link = ["-Wl,--no-as-needed", &path, "-lc10", "-Wl,-rpath,$ORIGIN"];
    let source = "int c10(void); int torch(void) { return c10(); }";
    let torch = [&link[..], &["-Wl,-soname,libtorch.so"]].concat();
    lab.so(&format!("{libraries}/libtorch.so"), source, &torch);
    let source = "int c10(void), torch(void); int scatter(void) { return c10() + torch(); }";
    let link = ["-Wl,--no-as-needed", &path, "-lc10", "-ltorch"];
    lab.so(&format!("{dir}/torch_scatter/_scatter.so"), source, &link);
    lab
}

#[test]
fn extensions_find_libraries_that_a_package_opens_first() {
    let lab = torch_extension();
    let dir = lab.path("app/lib/python3.12/site-packages");
    let extension = dir.join("torch_scatter/_scatter.so");
    let opens = "int main(int n, char **v) { for (int i = 1; i < n; i++) \
        if (!dlopen(v[i], RTLD_NOW)) return 1; return 0; }";
    lab.exe("open", &format!("{HEAD}{opens}"), &[]);
    let opened = |files: &[&std::path::Path]| {
        clean(lab.path("open")).args(files).status().expect("the program").success()
    };
    assert!(opened(&[&dir.join("torch/lib/libtorch.so"), &extension]));
    assert!(!opened(&[&extension]));
    let found = report(&lab, &["app"]);
    assert_eq!(summary(&found), Vec::<String>::new());
    assert_eq!(found["totals"]["assumed"], 0);
    // No symbols of these hosts are known, so nothing is assumed without their libraries.
    std::fs::remove_dir_all(dir.join("torch")).expect("a directory");
    let found = report(&lab, &["app"]);
    let missing: Vec<_> = of_rule(&found, "missing-library");
    let missing = missing.iter().map(|finding| text(&finding["library"])).collect::<Vec<_>>();
    assert_eq!(missing, ["libc10.so", "libtorch.so"]);
    assert_eq!(found["totals"]["assumed"], 0);
}

#[test]
fn each_plugin_gets_the_library_that_it_needs() {
    let lab = Lab::new();
    let dir = "app/lib/python3.12/site-packages/torchaudio/lib";
    for name in ["torchaudio", "torchaudio_sox"] {
        let soname = format!("-Wl,-soname,lib{name}.so");
        let defines = format!("int {name}(void) {{ return 1; }}");
        lab.so(&format!("{dir}/lib{name}.so"), &defines, &[&soname]);
        let source = format!("int {name}(void); int load(void) {{ return {name}(); }}");
        let link = ["-Wl,--no-as-needed", &format!("-L{dir}"), &format!("-l{name}")];
        lab.so(&format!("{dir}/_{name}.so"), &source, &link);
    }
    assert_eq!(summary(&report(&lab, &["app"])), Vec::<String>::new());
}
