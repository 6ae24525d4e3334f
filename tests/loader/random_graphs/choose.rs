//! Draws a graph from a seed: its directories, the names and directories of its objects, their
//! needs, search paths, linker flags, and the decoys and changes after linking.
//!
//! `symbols` draws the symbols. Chances are set so that most needs are found and the real loader
//! seldom crashes; comments beside them have the reasons.

use std::collections::BTreeMap;

use super::accidents;
use super::model::{Arch, Graph, LIBC, Need, Object, Program, ROOT};
use super::random::Random;
use super::symbols;

/// The graph of this seed. `biarch` is true if 32-bit files can be built and loaded here.
pub fn choose(seed: u64, biarch: bool) -> Graph {
    let random = &mut Random::new(seed);
    let narrow = random.chance(12);
    let arch = if narrow && biarch { Arch::I386 } else { Arch::Amd64 };
    let mut graph = Graph {
        arch,
        dirs: directories(random),
        objects: Vec::new(),
        extras: Vec::new(),
        files: Vec::new(),
        library_path: None,
        preload: None,
        features: BTreeMap::new(),
    };
    graph.mark(if arch == Arch::I386 { "i386 graph" } else { "amd64 graph" });
    for index in 0..random.between(3, 12) {
        let library = library(random, &mut graph, index);
        graph.objects.push(library);
    }
    for index in 0..random.between(1, 3) {
        let program = program(random, &mut graph, index);
        graph.objects.push(program);
    }
    symbols::define(random, &mut graph);
    needs(random, &mut graph);
    symbols::refer(random, &mut graph);
    for index in 0..graph.objects.len() {
        search_paths(random, &mut graph, index);
        flags(random, &mut graph, index);
    }
    accidents::add(random, &mut graph);
    graph
}

fn directories(random: &mut Random) -> Vec<String> {
    let mut pool = ["a", "b", "c", "lib", "opt/x", "opt/y"].map(str::to_owned).to_vec();
    random.shuffle(&mut pool);
    pool.truncate(random.between(2, 4));
    if random.chance(30) {
        pool.push(String::new());
    }
    pool
}

fn blank(dir: String, file: String) -> Object {
    Object {
        wanted: file.clone(),
        soname: Some(file.clone()),
        dir,
        file,
        program: None,
        versions: Vec::new(),
        defs: Vec::new(),
        final_versions: Vec::new(),
        final_defs: Vec::new(),
        refs: Vec::new(),
        needs: Vec::new(),
        rpath: None,
        runpath: None,
        flags: Vec::new(),
        fate: super::model::Fate::Present,
        patches: Vec::new(),
    }
}

fn library(random: &mut Random, graph: &mut Graph, index: usize) -> Object {
    let dir = random.pick(&graph.dirs).clone();
    let name = format!("lib{index}.so");
    let mut library = blank(dir.clone(), name.clone());
    let feature = random.weighted(&[
        (52, "soname = file name"),
        (16, "soname with link"),
        (9, "no soname"),
        (7, "soname unlike the file name"),
        (5, "needed by absolute path"),
        (3, "needed by relative path"),
        (3, "needed by $ORIGIN path"),
        (5, "two libraries of one name"),
    ]);
    match feature {
        "soname with link" => {
            library.wanted = format!("{name}.1");
            library.soname = Some(library.wanted.clone());
            library.file = format!("{name}.1.{}", random.below(9));
            let mut link = blank(dir, library.wanted.clone());
            if random.chance(15) {
                link.dir.clone_from(random.pick(&graph.dirs));
            }
            let target = if random.chance(50) {
                format!("{ROOT}/{}", library.path())
            } else {
                relative(&link.dir, &library.path())
            };
            graph.extras.push(super::model::Extra::Symlink { target, path: link.path() });
        }
        "no soname" => library.soname = None,
        "soname unlike the file name" => {
            library.soname = Some(match graph.objects.len() {
                0 => "libother.so.1".to_owned(),
                count => match random.below(3) {
                    0 => "libother.so.1".to_owned(),
                    _ => graph.objects[random.below(count)].wanted.clone(),
                },
            });
        }
        "needed by absolute path" => library.wanted = format!("{ROOT}/{}", library.path()),
        "needed by relative path" if !dir.is_empty() => library.wanted = library.path(),
        "needed by $ORIGIN path" => library.wanted = format!("$ORIGIN/../{}", library.path()),
        "two libraries of one name" => {
            let twin = graph.objects.iter().rfind(|other| other.dir != dir);
            if let Some(twin) = twin {
                library = blank(dir, twin.file.clone());
                library.wanted.clone_from(&twin.wanted);
                library.soname.clone_from(&twin.soname);
                let taken = graph.objects.iter().any(|other| other.path() == library.path());
                if taken {
                    library.file = name;
                }
            }
        }
        _ => {}
    }
    if library.wanted.contains('/') && random.chance(50) {
        library.soname = None;
    }
    graph.mark(feature);
    library
}

fn program(random: &mut Random, graph: &mut Graph, index: usize) -> Object {
    let mut program = blank(random.pick(&graph.dirs).clone(), format!("prog{index}"));
    program.soname = None;
    let usual = match graph.arch {
        Arch::Amd64 => "/lib64/ld-linux-x86-64.so.2",
        Arch::I386 => "/lib/ld-linux.so.2",
    };
    let details = Program {
        pie: random.chance(50),
        interpreter: if random.chance(12) { "/nowhere/ld.so".into() } else { usual.into() },
        export_all: random.chance(60),
    };
    graph.mark(if details.pie { "program: PIE" } else { "program: not PIE" });
    if details.interpreter != usual {
        graph.mark("program: another interpreter");
    }
    program.program = Some(details);
    program
}

fn needs(random: &mut Random, graph: &mut Graph) {
    let libraries = graph.libraries().count();
    for index in 0..graph.objects.len() {
        let own = graph.objects[index].program.is_none();
        let count = if own { random.below(4) } else { random.between(1, 5) };
        let mut chosen: Vec<usize> = Vec::new();
        for _ in 0..count {
            // Mostly downwards: a cycle is then the exception.
            let later = own && random.chance(80);
            let low = if later { index + 1 } else { 0 };
            if low >= libraries {
                continue;
            }
            let other = random.between(low, libraries - 1);
            if !chosen.contains(&other) && (other != index || random.chance(5)) {
                chosen.push(other);
            }
            if own && other < index {
                graph.mark("need back (cycle)");
            }
        }
        let mut needs: Vec<Need> = Vec::new();
        for other in chosen {
            let plain = !graph.objects[other].wanted.contains('/');
            let alias = (plain && random.chance(6)).then(|| format!("libalias{other}.so"));
            if let Some(name) = &alias {
                accidents::alias(random, graph, other, name);
            }
            needs.push(Need::Library { index: other, alias });
        }
        if random.chance(3) {
            graph.mark("need without library");
            needs.push(Need::Gone(format!("libgone{}.so", random.below(2))));
        }
        if random.chance(if own { 25 } else { 40 }) {
            graph.mark("libc");
            needs.push(Need::Libc);
        }
        if needs.is_empty() && !own {
            needs.push(Need::Library { index: 0, alias: None });
        }
        graph.objects[index].needs = needs;
    }
}

fn search_paths(random: &mut Random, graph: &mut Graph, index: usize) {
    let path = |random: &mut Random, graph: &mut Graph| {
        let here = graph.objects[index].dir.clone();
        let mut dirs = Vec::new();
        for need in &graph.objects[index].needs {
            if let Need::Library { index, .. } = need
                && random.chance(85)
            {
                dirs.push(graph.objects[*index].dir.clone());
            }
        }
        if graph.objects[index].program.is_some() {
            dirs.extend(graph.dirs.iter().filter(|_| random.chance(60)).cloned());
        }
        dirs.sort();
        dirs.dedup();
        random.shuffle(&mut dirs);
        let mut elements: Vec<String> =
            dirs.iter().map(|dir| element(random, graph, &here, dir)).collect();
        if random.chance(35) {
            let at = random.below(elements.len() + 1);
            let odd = odd_element(random, graph);
            elements.insert(at, odd);
        }
        elements.join(":")
    };
    let (rpath, runpath) = random.weighted(&[
        (40, (true, false)),
        (38, (false, true)),
        (5, (true, true)),
        (17, (false, false)),
    ]);
    if rpath {
        let text = path(random, graph);
        graph.objects[index].rpath = (!text.is_empty()).then_some(text);
    }
    if runpath {
        let text = path(random, graph);
        graph.objects[index].runpath = (!text.is_empty()).then_some(text);
    }
    let object = &graph.objects[index];
    match (object.rpath.is_some(), object.runpath.is_some()) {
        (true, true) => graph.mark("RPATH and RUNPATH"),
        (true, false) => graph.mark("RPATH"),
        (false, true) => graph.mark("RUNPATH"),
        (false, false) => graph.mark("no search path"),
    }
}

/// A search path element that leads from `from` to `to`, both directories of the graph.
fn element(random: &mut Random, graph: &mut Graph, from: &str, to: &str) -> String {
    let absolute = if to.is_empty() { ROOT.to_owned() } else { format!("{ROOT}/{to}") };
    let up = "/..".repeat(from.split('/').filter(|part| !part.is_empty()).count());
    let down = if to.is_empty() { String::new() } else { format!("/{to}") };
    let rest = if from == to { String::new() } else { format!("{up}{down}") };
    let feature = random.weighted(&[
        (42, "element: $ORIGIN"),
        (8, "element: ${ORIGIN}"),
        (30, "element: absolute"),
        (8, "element: relative"),
        (6, "element: trailing slashes"),
        (6, "element: inner slashes"),
    ]);
    graph.mark(feature);
    match feature {
        "element: $ORIGIN" => format!("$ORIGIN{rest}"),
        "element: ${ORIGIN}" => format!("${{ORIGIN}}{rest}"),
        "element: relative" => {
            if to.is_empty() {
                ".".into()
            } else {
                to.to_owned()
            }
        }
        "element: trailing slashes" => format!("{absolute}//"),
        "element: inner slashes" => format!("{ROOT}/.//{to}"),
        _ => absolute,
    }
}

fn odd_element(random: &mut Random, graph: &mut Graph) -> String {
    let (feature, text) = random.weighted(&[
        (5, ("element: missing", "/nonexistent/lib")),
        (5, ("element: missing", "$ORIGIN/nowhere")),
        (6, ("element: empty", "")),
        (2, ("element: unknown token", "$ORIGINX/a")),
        (2, ("element: unknown token", "@ROOT@/$FOO/a")),
        (3, ("element: $LIB", "@ROOT@/$LIB")),
        (2, ("element: $PLATFORM", "@ROOT@/${PLATFORM}/a")),
        (3, ("element: a file", "@ROOT@/plain-file")),
        (2, ("element: link loop", "@ROOT@/loop")),
        (4, ("element: linked directory", "$ORIGIN/../linked")),
        (4, ("element: linked directory", "@ROOT@/linked")),
    ]);
    graph.mark(feature);
    text.to_owned()
}

fn flags(random: &mut Random, graph: &mut Graph, index: usize) {
    let library = graph.objects[index].program.is_none();
    let libc = graph.objects[index].needs.iter().any(|need| matches!(need, Need::Libc));
    let mut flags = vec![format!("--hash-style={}", random.pick(&["gnu", "sysv", "both"]))];
    let choices: [(usize, &'static str, &[&str]); 10] = [
        (30, "flag: now", &["-z", "now"]),
        (12, "flag: symbolic", &["-Bsymbolic"]),
        (6, "flag: symbolic functions", &["-Bsymbolic-functions"]),
        (10, "flag: nodefaultlib", &["-z", "nodefaultlib"]),
        (10, "flag: relr", &["-z", "pack-relative-relocs"]),
        (15, "flag: nocombreloc", &["-z", "nocombreloc"]),
        (50, "flag: noseparate-code", &["-z", "noseparate-code"]),
        (20, "flag: norelro", &["-z", "norelro"]),
        (5, "flag: nodelete", &["-z", "nodelete"]),
        (5, "flag: initfirst", &["-z", "initfirst"]),
    ];
    for (percent, feature, words) in choices {
        if random.chance(percent) {
            graph.mark(feature);
            flags.extend(words.iter().map(|word| (*word).to_owned()));
        }
    }
    if libc && flags.iter().any(|flag| flag == "nodefaultlib") {
        // An object all of whose versioned needs are missing crashes the real loader.
        graph.mark("nodefaultlib, libc by path");
        let object = &mut graph.objects[index];
        for path in [&mut object.rpath, &mut object.runpath].into_iter().flatten() {
            path.push(':');
            path.push_str(LIBC);
        }
        object.runpath.get_or_insert_with(|| LIBC.to_owned());
    }
    if library && random.chance(7) {
        let (feature, flag) = *random.pick(&[("auxiliary", "-f"), ("filter", "-F")]);
        let other = filtee(random, graph, index);
        graph.mark(feature);
        flags.push(flag.to_owned());
        flags.push(other.unwrap_or_else(|| "libgone-filtee.so".to_owned()));
    }
    graph.objects[index].flags = flags;
}

/// A library to filter; `None` for one that does not exist.
///
/// For the filtee of the main file, the real loader sets up neither the versions nor the
/// thread-local block, and crashes on both. So most filtees have neither. A library that filters
/// itself makes the loader run in a circle.
fn filtee(random: &mut Random, graph: &Graph, index: usize) -> Option<String> {
    if random.chance(25) {
        return None;
    }
    let harmless = |object: &&Object| {
        object.program.is_none()
            && object.versions.is_empty()
            && object.defs.iter().all(|def| def.kind != super::model::Kind::Tls)
            && !object.needs.iter().any(|need| matches!(need, Need::Libc))
    };
    let own = &graph.objects[index].wanted;
    let all = graph.libraries().map(|(_, object)| object).filter(|object| object.wanted != *own);
    let any = random.chance(1);
    let candidates: Vec<&Object> = all.filter(|object| any || harmless(object)).collect();
    (!candidates.is_empty()).then(|| random.pick(&candidates).wanted.clone())
}

/// `target`, a path below the root, as seen from the directory `from`.
pub fn relative(from: &str, target: &str) -> String {
    let up = "../".repeat(from.split('/').filter(|part| !part.is_empty()).count());
    format!("{up}{target}")
}
