//! A system with a store: a C library, zlib and programs as items, and the machine's own files
//! beside the store.

use super::report::Report;
use crate::support::{Lab, linkaudit};

pub const LOADER: &str = "ld-linux-x86-64.so.2";

/// The path of a store item.
pub fn item(name: &str) -> String {
    let mut hash: String =
        name.bytes().cycle().map(|b| char::from(b'a' + b % 26)).take(31).collect();
    hash.push('0');
    format!("/nix/store/{hash}-{name}")
}

pub struct Store {
    pub lab: Lab,
}

impl Store {
    pub fn new() -> Self {
        let lab = Lab::new();
        let libc = "/lib/x86_64-linux-gnu/libc.so.6";
        for (dir, loader) in [
            (format!("{}/lib", item("glibc-2.36")), format!("{}/lib", item("glibc-2.36"))),
            ("/lib/x86_64-linux-gnu".to_owned(), "/lib64".to_owned()),
        ] {
            lab.write(&format!("r{dir}/libc.so.6"), std::fs::read(libc).expect("a libc"));
            let own = std::fs::read(format!("/lib64/{LOADER}")).expect("a loader");
            lab.write(&format!("r{loader}/{LOADER}"), own);
        }
        lab.so("build/libz.so.1", "int z(void) { return 1; }", &["-Wl,-soname,libz.so.1"]);
        let store = Self { lab };
        store.copy("libz.so.1", &format!("{}/lib/libz.so.1", item("zlib-1.3")));
        store.copy("libz.so.1", "/usr/lib/libz.so.1");
        store
    }

    /// Copies a built file into the system.
    pub fn copy(&self, built: &str, to: &str) {
        let bytes = std::fs::read(self.lab.path(&format!("build/{built}"))).expect("a file");
        self.lab.write(&format!("r{to}"), bytes);
    }

    /// A program at `path` that needs libz.so.1, with an interpreter and a RUNPATH.
    pub fn program(&self, path: &str, interp: &str, runpath: &str) {
        let interp = format!("-Wl,--dynamic-linker,{interp}");
        let runpath = format!("-Wl,-rpath,{runpath}");
        let flags = ["-Wl,--no-as-needed", "build/libz.so.1", &interp, &runpath];
        let flags = if runpath.ends_with(',') { &flags[..3] } else { &flags[..] };
        let source = "int z(void); int main(void) { return z(); }";
        self.lab.exe(&format!("r{path}"), source, flags);
    }

    /// A program whose interpreter and libraries all lie in the store.
    pub fn good(&self, path: &str) {
        let glibc = format!("{}/lib", item("glibc-2.36"));
        let runpath = format!("{glibc}:{}/lib", item("zlib-1.3"));
        self.program(path, &format!("{glibc}/{LOADER}"), &runpath);
    }

    pub fn audit(&self, args: &[&str]) -> Report {
        let mut command = linkaudit();
        command.current_dir(self.lab.root()).args(["--isolated", "--root", "r"]).args(args);
        Report::of(&mut command)
    }
}
