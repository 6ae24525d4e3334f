//! Changes to a random graph after linking: libraries lose symbols and versions, vanish or are
//! replaced, links and decoys appear in other directories. Selects the files to compare.

use super::choose::relative;
use super::model::{Arch, Def, Extra, Fate, Graph, Need, Patch, ROOT};
use super::random::Random;

pub fn add(random: &mut Random, graph: &mut Graph) {
    for index in 0..graph.objects.len() {
        if graph.objects[index].program.is_none() {
            replace(random, graph, index);
            let plain = !graph.objects[index].wanted.contains('/');
            if plain {
                decoys(random, graph, index);
            }
        }
        patches(random, graph, index);
    }
    let target = random.pick(&graph.dirs).clone();
    let target = if target.is_empty() { ".".to_owned() } else { target };
    graph.extras.push(Extra::Symlink { target, path: "linked".into() });
    graph.extras.push(Extra::Symlink { target: "loop".into(), path: "loop".into() });
    graph.extras.push(Extra::Text { path: "plain-file".into() });
    if random.chance(12) {
        graph.mark("LD_LIBRARY_PATH");
        let separator = if random.chance(30) { ";" } else { ":" };
        let dirs: Vec<String> = graph.dirs.iter().map(|dir| format!("{ROOT}/{dir}")).collect();
        let count = random.between(1, dirs.len());
        graph.library_path = Some(dirs[..count].join(separator));
    }
    if random.chance(8) {
        graph.mark("LD_PRELOAD");
        let other = random.pick(&graph.objects);
        let whole = random.chance(60) && other.program.is_none();
        graph.preload =
            Some(if whole { format!("{ROOT}/{}", other.path()) } else { other.wanted.clone() });
    }
    files(random, graph);
}

/// Makes the library that the loader finds differ from the one at link time.
fn replace(random: &mut Random, graph: &mut Graph, index: usize) {
    let object = &graph.objects[index];
    let versioned = !object.versions.is_empty();
    let mut versions = object.versions.clone();
    let mut defs = object.defs.clone();
    let feature = random.weighted(&[
        (55, "library unchanged"),
        (16, "fewer symbols"),
        (12, "other sizes"),
        (if versioned { 12 } else { 0 }, "fewer versions"),
        (if versioned { 6 } else { 0 }, "no versions"),
        // Without a library of which they need versions, other objects may have no versions left,
        // which crashes the loader.
        (if versioned { 2 } else { 7 }, "library removed"),
        (2, "library of another class"),
        (1, "library is text"),
    ]);
    let mut fate = Fate::Present;
    match feature {
        "fewer symbols" => defs.retain(|_| random.chance(60)),
        "other sizes" => {
            for def in &mut defs {
                def.size = *random.pick(&[4, 8, 16]);
            }
        }
        "fewer versions" => {
            let kept = random.below(versions.len());
            versions.truncate(kept.max(1));
            for def in &mut defs {
                def.old.retain(|version| *version < versions.len());
                // Either the symbol goes with its version, or it is left without one.
                if def.version.is_some_and(|version| version >= versions.len()) {
                    def.version = None;
                    def.old.clear();
                    def.size = if random.chance(50) { 0 } else { def.size };
                }
            }
            defs.retain(|def| def.size > 0);
            if versions.len() == object.versions.len() {
                versions[0].push_str("_renamed");
            }
        }
        "no versions" => {
            versions.clear();
            // Before 2.41 a versioned reference that meets its library without versions aborts.
            let abort = random.chance(1);
            defs.retain(|def| def.version.is_none() || abort);
            for def in &mut defs {
                def.version = None;
                def.old.clear();
            }
        }
        "library removed" => fate = Fate::Removed,
        "library of another class" => fate = Fate::OtherClass,
        "library is text" => fate = Fate::Text,
        _ => {}
    }
    if defs.iter().any(|def: &Def| !def.old.is_empty()) {
        graph.mark("old version beside the default");
    }
    graph.mark(feature);
    let object = &mut graph.objects[index];
    (object.final_versions, object.final_defs, object.fate) = (versions, defs, fate);
}

/// Adds other files with the name of this library.
fn decoys(random: &mut Random, graph: &mut Graph, index: usize) {
    let (wanted, target) = (graph.objects[index].wanted.clone(), graph.objects[index].path());
    let own = graph.objects[index].dir.clone();
    let join = |dir: &str, rest: &str| {
        if dir.is_empty() { rest.to_owned() } else { format!("{dir}/{rest}") }
    };
    if random.chance(36) {
        let dir = random.pick(&graph.dirs).clone();
        let path = join(&dir, &wanted);
        let feature = random.weighted(&[
            (20, "link in another directory"),
            (16, "hard link"),
            (13, "copy"),
            (15, "decoy: other class"),
            (12, "decoy: other machine"),
            (5, "decoy: text"),
            (4, "decoy: empty"),
            (4, "decoy: directory"),
            (6, "decoy: program"),
            (6, "decoy: dangling link"),
            (5, "decoy: link to itself"),
        ]);
        let link = |target: String| Extra::Symlink { target, path: path.clone() };
        let extra = match feature {
            "link in another directory" => link(relative(&dir, &target)),
            "hard link" => Extra::Hardlink { target, path: path.clone() },
            "copy" => Extra::Copy { target, path: path.clone() },
            "decoy: other class" => Extra::OtherClass { path: path.clone() },
            "decoy: other machine" => Extra::OtherMachine { target, path: path.clone() },
            "decoy: text" => Extra::Text { path: path.clone() },
            "decoy: empty" => Extra::Empty { path: path.clone() },
            "decoy: directory" => Extra::Directory { path: path.clone() },
            "decoy: program" => Extra::Program { pie: random.chance(50), path: path.clone() },
            "decoy: dangling link" => link("nowhere".to_owned()),
            _ => link(wanted.clone()),
        };
        if graph.objects.iter().all(|object| object.path() != path) {
            graph.mark(feature);
            graph.extras.push(extra);
        }
    }
    if random.chance(9) {
        let (feature, sub) = random.weighted(&[
            (3, ("glibc-hwcaps", "glibc-hwcaps/x86-64-v2")),
            (3, ("glibc-hwcaps", "glibc-hwcaps/x86-64-v3")),
            (2, ("glibc-hwcaps", "glibc-hwcaps/x86-64-v4")),
            (1, ("glibc-hwcaps: unknown", "glibc-hwcaps/x86-64-v9")),
            (3, ("legacy subdirectory", "tls")),
            (2, ("legacy subdirectory", "x86_64")),
            (1, ("legacy subdirectory", "tls/i686")),
        ]);
        graph.mark(feature);
        let target = graph.objects[index].path();
        let path = join(&own, &format!("{sub}/{wanted}"));
        let extra = if random.chance(60) {
            Extra::Copy { target, path }
        } else {
            Extra::Move { target, path }
        };
        graph.extras.push(extra);
    }
}

/// Adds a second name by which objects need a library.
pub fn alias(random: &mut Random, graph: &mut Graph, index: usize, name: &str) {
    let object = &graph.objects[index];
    let path = object.path().replace(&object.file, name);
    let (feature, extra) = if random.chance(50) {
        ("alias: link", Extra::Symlink { target: object.file.clone(), path })
    } else {
        ("alias: hard link", Extra::Hardlink { target: object.path(), path })
    };
    graph.mark(feature);
    graph.extras.push(extra);
}

fn patches(random: &mut Random, graph: &mut Graph, index: usize) {
    let needs_versions = graph.objects[index].needs.iter().any(|need| match need {
        Need::Library { index, .. } => !graph.objects[*index].versions.is_empty(),
        _ => false,
    });
    let choices = [
        (if needs_versions { 15 } else { 0 }, "patch: weak version needs", Patch::WeakVersions),
        (4, "patch: no hash table", Patch::NoHashTable),
        (10, "patch: no section headers", Patch::NoSections),
    ];
    for (percent, feature, patch) in choices {
        if random.chance(percent) {
            graph.mark(feature);
            graph.objects[index].patches.push(patch);
        }
    }
}

/// Selects the files to compare: every object that exists, each with a random spelling of its path.
fn files(random: &mut Random, graph: &mut Graph) {
    let mut files = Vec::new();
    for index in 0..graph.objects.len() {
        let object = &graph.objects[index];
        if object.fate != Fate::Present {
            continue;
        }
        let mut path = object.path();
        for extra in &graph.extras {
            match extra {
                Extra::Move { target, path: to } if *target == path => path.clone_from(to),
                _ => {}
            }
        }
        let feature = random.weighted(&[
            (45, "asked: relative"),
            (15, "asked: ./"),
            (30, "asked: absolute"),
            (4, "asked: .."),
            (10, "asked: through a link"),
        ]);
        files.push(match feature {
            "asked: ./" => format!("./{path}"),
            "asked: absolute" => format!("{ROOT}/{path}"),
            "asked: .." => format!("empty/../{path}"),
            "asked: through a link" => {
                let link = format!("links/{index}");
                let target = relative("links", &path);
                graph.extras.push(Extra::Symlink { target, path: link.clone() });
                link
            }
            _ => path,
        });
        graph.mark(feature);
    }
    if random.chance(10) {
        graph.mark("asked: not ELF");
        files.push("plain-file".to_owned());
    }
    if graph.arch == Arch::Amd64 && random.chance(10) {
        graph.mark("asked: other class");
        graph.extras.push(Extra::OtherClass { path: "other-class.so".into() });
        files.push("other-class.so".to_owned());
    }
    graph.files = files;
}
