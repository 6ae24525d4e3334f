//! The situations: the reader of the report, and the defects.

use super::kit::{Situation, object, program};
use super::tiny::Tiny;

/// Makes the files of a situation.
type Build = fn() -> Situation;

/// All of them, by the name of their files.
pub(crate) const SITUATIONS: &[(&str, Build)] = &[
    ("developer", developer),
    ("jdk", jdk),
    ("wheel", wheel),
    ("nix", nix),
    ("rocm", rocm),
    ("usr", usr),
    ("five-thousand", five_thousand),
    ("one-file", one_file),
    ("clean", clean),
    ("incomplete", incomplete),
    ("waived", waived),
    ("foreign", foreign),
    ("empty", empty),
    ("installed", installed),
];

/// A C++ program with a library in a directory that is not searched, and a library that was built
/// against another release of its own base.
pub(crate) fn developer() -> Situation {
    let lab = Situation::new("/home/dev/draw/build");
    let draw = program(&["libshape.so.1", "libcolor.so"], &["_ZNK5Shape4areaEv", "_ZN5Shape2idEv"]);
    lab.write("/home/dev/draw/build/bin/draw", draw.runpath("$ORIGIN/../lib").bytes());
    let shape = object("libshape.so.1", &[], &[]).defines("_ZNK5Shape4areaEv");
    let shape = shape.defines("_ZN5Shape2idEv");
    lab.write("/home/dev/draw/build/lib2/libshape.so.1", shape.bytes());
    let color = object("libcolor.so", &[], &[]).runpath("$ORIGIN");
    lab.write("/home/dev/draw/build/lib/libcolor.so", color.bytes());
    let refers = [
        "_ZNK5Color3rgbEi",
        "_ZN5Color5gammaEd",
        "_ZN5Color5parseERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    ];
    let filter = object("libfilter.so", &["libpalette.so"], &refers);
    lab.write("/home/dev/draw/build/lib/libfilter.so", filter.runpath("$ORIGIN").bytes());
    let palette = object("libpalette.so", &[], &[]).defines("_ZNK5Color3rgbEii");
    let palette = palette.defines("_ZN5Color3mixERKS_").defines("_ZN5Color5gammaB6linearEd");
    lab.write("/home/dev/draw/build/lib/libpalette.so", palette.bytes());
    lab
}

/// Libraries that a program loads after it has loaded the one that they all need.
pub(crate) fn jdk() -> Situation {
    let lab = Situation::new("/usr/lib/jvm");
    for (home, libraries) in [
        (
            "java-17-openjdk-amd64",
            &["attach", "awt", "extnet", "instrument", "java", "jimage", "net", "nio", "zip"][..],
        ),
        ("temurin-25-jdk-amd64", &["awt", "java", "zip"]),
    ] {
        let dir = format!("/usr/lib/jvm/{home}/lib");
        for name in libraries {
            let path = format!("{dir}/lib{name}.so");
            let refers = [format!("JVM_{name}Open"), format!("JVM_{name}Close")];
            let refers: Vec<&str> = refers.iter().map(String::as_str).collect();
            lab.write(&path, object(&path, &["libjvm.so"], &refers).rpath("$ORIGIN").bytes());
        }
        let jvm = libraries.iter().fold(Tiny::library("libjvm.so", ["libc.so.6"]), |jvm, name| {
            jvm.defines(&format!("JVM_{name}Open")).defines(&format!("JVM_{name}Close"))
        });
        lab.write(&format!("{dir}/server/libjvm.so"), jvm.bytes());
        let fonts: Vec<String> = (1..=8).map(|n| format!("AWTFont{n}")).collect();
        let names: Vec<&str> = fonts.iter().map(String::as_str).collect();
        lab.so(&format!("{dir}/libfontmanager.so"), &[], &names);
        let headless = fonts
            .iter()
            .fold(Tiny::library("libawt_headless.so", ["libc.so.6"]), |o, name| o.defines(name));
        lab.write(&format!("{dir}/libawt_headless.so"), headless.bytes());
    }
    lab
}

/// A wheel whose own copy of a library was renamed, and one module that was built with another
/// copy.
fn wheel() -> Situation {
    let lab = Situation::new("/srv/wheel");
    let dir = "/srv/wheel/mesh/_core.cpython-311-x86_64-linux-gnu.so";
    let core = object(
        dir,
        &["libgfortran-040039e1.so.5.0.0", "libopenblas-r0-f650aae0.3.3.so"],
        &["PyLong_FromLong", "PyErr_SetString", "gotoblas_dgemm"],
    );
    let core = core.defines("PyInit__core").rpath("$ORIGIN/../mesh.libs");
    lab.write(dir, core.bytes());
    let blas = object("libopenblas-r0-f650aae0.3.3.so", &[], &[]).defines("gotoblas_dgemm");
    lab.write("/srv/wheel/mesh.libs/libopenblas-r0-f650aae0.3.3.so", blas.bytes());
    lab.write(
        "/srv/wheel/mesh.libs/libgfortran-91cc3cb1.so.3.0.0",
        object("libgfortran-91cc3cb1.so.3.0.0", &[], &[]).bytes(),
    );
    lab
}

/// A store path whose need is in another store path, which is not in its RUNPATH.
fn nix() -> Situation {
    let own = "/nix/store/1pdc9k2mzz8m6cyn0h2g5wvbvn4zs0qj-miopen-6.2.2";
    let other = "/nix/store/9r3zyh0f0v1s8x7j5k2b6d4g8a1l3mnp-hipblaslt-6.2.2";
    let lab = Situation::new(&format!("{own} --lib-path {other}"));
    let path = format!("{own}/lib/libMIOpen.so.1.0.60202");
    let library = object(&path, &["libhipblaslt.so.0", "libamd_comgr.so.2"], &["hipblasLtCreate"]);
    lab.write(&path, library.runpath(&format!("{own}/lib")).bytes());
    let blas = Tiny { soname: Some("libhipblaslt.so.0".to_owned()), ..object("", &[], &[]) };
    lab.write(&format!("{other}/lib/libhipblaslt.so.0"), blas.defines("hipblasLtCreate").bytes());
    lab
}

/// The defect that linkaudit was written for: a list that leaves archives out of a merged one.
pub(crate) fn rocm() -> Situation {
    let lab = Situation::new(
        "/opt/rocm/build/lib/libMIOpen.so --lib-path /opt/rocm/build/lib --lib-path \
         /opt/rocm/llvm/lib --policy rocm.toml",
    );
    let sources = linkaudit::demo::sources();
    let list = sources.iter().find(|(path, _)| path.ends_with(".cmake")).expect("a list");
    lab.beside("librockcompiler_deps.cmake", &list.1);
    lab.beside(
        "rocm.toml",
        "schema = 1\n[[archive]]\nmatch = \"**/librockCompiler.a\"\n\
         deps-list = \"librockcompiler_deps.cmake\"\n",
    );
    let parsed = linkaudit::format::deps_list::DepsList::parse(list.1.clone()).expect("a list");
    for (path, bytes) in sources.iter().chain(&linkaudit::demo::build(&parsed, "build/lib")) {
        lab.write(&format!("/opt/rocm/{path}"), bytes);
    }
    lab
}

/// A system: three causes among many files, and plugins whose programs are known.
pub(crate) fn usr() -> Situation {
    let lab = Situation::new("/usr/bin /usr/lib");
    for n in 0..40 {
        lab.write(&format!("/usr/bin/tool{n}"), program(&[], &["malloc"]).bytes());
        let path = format!("/usr/lib/python3/dist-packages/m{n}.cpython-311-x86_64-linux-gnu.so");
        let module = object(&path, &[], &["PyLong_FromLong"]).defines(&format!("PyInit_m{n}"));
        lab.write(&path, module.bytes());
    }
    for n in 0..24 {
        let path = format!("/usr/lib/vendor/libv{n:02}.so");
        lab.write(&path, object(&path, &["libvendor.so"], &[]).rpath("$ORIGIN").bytes());
    }
    lab.write("/usr/lib/vendor/core/libvendor.so", object("libvendor.so", &[], &[]).bytes());
    let names = ["_Ux86_64_get_elf_image", "_Ux86_64_dwarf_find_unwind_table", "_Ux86_64_init"];
    lab.so("/usr/lib/x86_64-linux-gnu/libunwind-coredump.so.0", &[], &names);
    let unwind =
        names.iter().fold(object("libunwind-x86_64.so.8", &[], &[]), |o, name| o.defines(name));
    lab.write("/usr/lib/x86_64-linux-gnu/libunwind-x86_64.so.8", unwind.bytes());
    lab.so("/usr/lib/ImageMagick-7/coders/mat.so", &[], &["GetMagickUTCTime"]);
    lab
}

/// Plugins of two programs that no option names, in directories of a large system.
pub(crate) fn five_thousand() -> Situation {
    let lab = Situation::new("/usr/lib");
    for n in 0..120 {
        let path = format!("/usr/lib/collectd/plugin{n:03}.so");
        let mut names: Vec<String> = (0..30).map(|s| format!("plugin_call{s}")).collect();
        names.push(format!("plugin_own{n}"));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        lab.so(&path, &[], &names);
    }
    for n in 0..60 {
        let path = format!("/usr/lib/office/modules/part{n}/libpart.so");
        let names: Vec<String> =
            (0..22).map(|s| format!("_ZN6office7Service4callILi{s}EEEvv")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        lab.so(&path, &[], &names);
    }
    for n in 0..3 {
        lab.so(&format!("/usr/lib/x86_64-linux-gnu/libneeds{n}.so"), &["libgone.so.2"], &[]);
    }
    lab
}

/// One library with one undefined symbol.
pub(crate) fn one_file() -> Situation {
    let lab = Situation::new("/opt/app/lib/libreport.so");
    lab.so("/opt/app/lib/libreport.so", &[], &["_ZN4llvm14TargetRegistry12lookupTargetERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERNS_6TripleERS6_"]);
    lab
}

fn clean() -> Situation {
    let lab = Situation::new("/opt/app");
    lab.write(
        "/opt/app/bin/app",
        program(&["libapp.so.1"], &["app_main"]).runpath("$ORIGIN/../lib").bytes(),
    );
    lab.write(
        "/opt/app/lib/libapp.so.1",
        object("libapp.so.1", &[], &["malloc"]).defines("app_main").bytes(),
    );
    lab
}

/// A damaged library, a directory in the place of a file, and a program with an unknown loader.
fn incomplete() -> Situation {
    let lab = Situation::new("/opt/app");
    lab.so("/opt/app/lib/libfine.so", &[], &["malloc"]);
    lab.write("/opt/app/lib/libcut.so", &object("libcut.so", &[], &[]).bytes()[..150]);
    let odd = Tiny { interp: Some("/lib/ld-uClibc.so.0"), ..program(&[], &[]) };
    lab.write("/opt/app/bin/odd", odd.bytes());
    lab.write("/lib/ld-uClibc.so.0", Tiny::library::<&str>("ld-uClibc.so.0", []).bytes());
    lab
}

/// A finding that a policy waives, one that a baseline waives, and lines that waive nothing.
fn waived() -> Situation {
    let lab = Situation::new("/opt/app --policy known.toml --baseline known.txt");
    lab.so("/opt/app/lib/libknown.so", &[], &["provided_by_the_host"]);
    lab.so("/opt/app/lib/libnew.so", &[], &["forgotten"]);
    lab.beside(
        "known.toml",
        "schema = 1\n[[waive]]\nrule = \"undefined-symbol\"\nsymbol = \"provided_*\"\n\
         reason = \"the host program defines it\"\n[[waive]]\nrule = \"missing-library\"\n\
         library = \"libold.so\"\nreason = \"gone since 2.0\"\n",
    );
    lab.beside(
        "known.txt",
        "0123456789abcdef0123456789abcdef missing-library lib/libold.so libold.so\n",
    );
    lab
}

/// A library of another machine, for which the sysroot has no loader.
fn foreign() -> Situation {
    let lab = Situation::new("/opt/app");
    lab.so("/opt/app/lib/libfine.so", &[], &["malloc"]);
    let mut bytes = object("libarm.so", &[], &[]).bytes();
    // e_machine: EM_AARCH64
    bytes[18] = 183;
    lab.write("/opt/app/lib/libarm.so", bytes);
    lab
}

fn empty() -> Situation {
    let lab = Situation::new("/opt/app");
    lab.write("/opt/app/share/doc/README", "text");
    lab
}

/// A system with libraries that no need reaches: one defines a symbol that a program lacks, one is
/// in a directory that is not searched, and one was deleted although its package is installed.
fn installed() -> Situation {
    let lab = Situation::new("/opt/app");
    lab.write("/opt/app/bin/app", program(&[], &["deflate", "inflate", "crc32"]).bytes());
    let plugin = object("libplug.so", &["libconfig-9.so", "libgone.so.2"], &[]);
    lab.write("/opt/app/lib/libplug.so", plugin.bytes());
    let dir = "/usr/lib/x86_64-linux-gnu";
    let zlib = object("libz.so.1", &[], &[]).defines("deflate").defines("inflate");
    lab.write(&format!("{dir}/libz.so.1"), zlib.defines("crc32").bytes());
    let other = object("libarchive.so.13", &[], &[]).defines("crc32");
    lab.write(&format!("{dir}/libarchive.so.13"), other.bytes());
    lab.so(&format!("{dir}/config/libconfig-9.so"), &[], &[]);
    let info = "/var/lib/dpkg/info";
    lab.write(&format!("{info}/zlib1g:amd64.list"), format!("{dir}/libz.so.1\n"));
    lab.write(&format!("{info}/libconfig9:amd64.list"), format!("{dir}/config/libconfig-9.so\n"));
    lab.write(&format!("{info}/libgone2:amd64.list"), format!("{dir}/libgone.so.2\n"));
    lab
}
