//! Random systems and stages that are to be installed over them: a loader and a libc, libraries of
//! several versions in several directories, programs that need them.

use super::content::{Content, Item};
use super::random::Random;
use super::tiny::Tiny;
use crate::support::clean;
use std::path::Path;

pub const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
const LIBC: &str = "/lib/x86_64-linux-gnu/libc.so.6";
const LIBRARIES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// A system and a stage for it.
pub struct Layout {
    pub system: Content,
    pub stage: Content,
}

impl Layout {
    pub fn random(random: &mut Random) -> Self {
        let merged = random.chance(60);
        let mut system = Content::default();
        if merged {
            for name in ["lib", "lib64"] {
                system.put(&Path::new("/usr").join(name), Item::Directory);
                system.put(&Path::new("/").join(name), Item::Link(format!("usr/{name}")));
            }
        }
        let usr = if merged { "/usr" } else { "" };
        for name in [LOADER, LIBC] {
            let bytes = std::fs::read(name).expect("this machine's own");
            system.put(Path::new(&format!("{usr}{name}")), Item::File(bytes));
        }
        fill(&mut system, random, usr, 8);
        if random.chance(50) {
            system.put(Path::new("/opt/app/lib64"), Item::Link("lib".to_owned()));
        }
        let mut stage = Content::default();
        // Files of one package are spelled one way.
        let spelled = if merged && random.chance(50) { "" } else { usr };
        fill(&mut stage, random, spelled, 5);
        if system.items.contains_key(Path::new("/opt/app/lib64")) && random.chance(60) {
            let name = random.pick(&LIBRARIES);
            let path = format!("/opt/app/lib64/lib{name}.so.1");
            stage.put(Path::new(&path), Item::File(library(random, name)));
            stage.items.remove(Path::new(&format!("/opt/app/lib/lib{name}.so.1")));
        }
        Self { system, stage }
    }

    /// Installs the stage over the system at `top`, with tar as package managers do.
    pub fn install(&self, top: &Path, stage: &Path) {
        self.system.on_disk(top);
        let script = "tar -C \"$1\" --sort=name -c . | tar -C \"$0\" -x --keep-directory-symlink";
        let status = clean("sh").args(["-c", script]).arg(top).arg(stage).status();
        assert!(status.expect("a shell").success(), "tar");
    }
}

/// Adds libraries and programs to the directories in which they are searched.
fn fill(content: &mut Content, random: &mut Random, usr: &str, count: usize) {
    let near = format!("{usr}/lib");
    let far = format!("{usr}/lib/x86_64-linux-gnu");
    let dirs = [&*near, &*far, "/opt/app/lib", "/opt/other"];
    for _ in 0..count {
        let (dir, name) = (*random.pick(&dirs), *random.pick(&LIBRARIES));
        let soname = format!("lib{name}.so.1");
        let bytes = library(random, name);
        let path = format!("{dir}/{soname}");
        if random.chance(50) {
            let long = format!("{soname}.{}", random.below(3));
            content.put(Path::new(&format!("{dir}/{long}")), Item::File(bytes));
            content.put(Path::new(&path), Item::Link(long));
        } else if random.chance(10) {
            content.put(Path::new(&path), Item::Link("nowhere".to_owned()));
        } else {
            content.put(Path::new(&path), Item::File(bytes));
        }
    }
    for number in 0..3 {
        let dir = *random.pick(&["/usr/bin", "/opt/app/bin"]);
        let path = format!("{dir}/program{number}");
        content.put(Path::new(&path), Item::File(program(random)));
    }
}

fn some_library(random: &mut Random) -> String {
    format!("lib{}.so.1", random.pick(&LIBRARIES))
}

fn searches(random: &mut Random) -> Option<String> {
    let paths = ["$ORIGIN/../lib", "/opt/app/lib64:/opt/other", "$ORIGIN:/lib/app/../", "/usr/lib"];
    random.chance(70).then(|| (*random.pick(&paths)).to_owned())
}

fn library(random: &mut Random, name: &str) -> Vec<u8> {
    let needs: Vec<String> = (0..random.below(2)).map(|_| some_library(random)).collect();
    let mut tiny = Tiny::library(&format!("lib{name}.so.1"), needs);
    tiny.runpath = searches(random);
    for number in 0..3 {
        if random.chance(80) {
            tiny = tiny.defines(&format!("{name}{number}"));
        }
    }
    refer(tiny, random).bytes()
}

fn program(random: &mut Random) -> Vec<u8> {
    let needs = (0..random.between(1, 3)).map(|_| some_library(random)).collect();
    let (runpath, interp) = (searches(random), Some(LOADER));
    refer(Tiny { needs, runpath, interp, ..Tiny::default() }, random).bytes()
}

fn refer(mut tiny: Tiny, random: &mut Random) -> Tiny {
    for _ in 0..random.below(3) {
        tiny = tiny.refers(&format!("{}{}", random.pick(&LIBRARIES), random.below(3)));
    }
    tiny
}
