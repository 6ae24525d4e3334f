//! Draws the symbols of a graph: the definitions of every object, their versions, and its
//! references. Names come from one small set, so that libraries interpose each other.
//!
//! A name has one kind throughout the graph: a thread-local reference to a plain definition would
//! test damage, not the loader's rules.

use super::model::{Def, Graph, Kind, Need, Object, Ref, Use, Visibility};
use super::random::Random;

const UNIVERSE: [(Kind, &str, usize); 6] = [
    (Kind::Function, "func", 12),
    (Kind::Data, "data", 7),
    (Kind::Tls, "tls", 4),
    (Kind::Unique, "uniq", 2),
    (Kind::Ifunc, "ifun", 2),
    (Kind::Absolute, "abso", 2),
];

fn universe() -> impl Iterator<Item = (Kind, String)> {
    UNIVERSE
        .iter()
        .flat_map(|(kind, name, count)| (0..*count).map(move |i| (*kind, format!("{name}{i}"))))
}

pub fn kind_of(name: &str) -> Kind {
    UNIVERSE
        .iter()
        .find(|(_, prefix, _)| name.starts_with(prefix))
        .map_or(Kind::Function, |(kind, ..)| *kind)
}

pub fn define(random: &mut Random, graph: &mut Graph) {
    for index in 0..graph.objects.len() {
        let library = graph.objects[index].program.is_none();
        let dollar = graph.objects[index].wanted.contains('$');
        // If a token names the file of a version need, the loader never finds the file again, and
        // crashes.
        let versions = if library && !dollar && random.chance(40) {
            graph.mark("versions defined");
            versions(random, index)
        } else {
            Vec::new()
        };
        let mut defs = Vec::new();
        for (kind, name) in universe() {
            if random.chance(if library { 24 } else { 9 }) {
                defs.push(definition(random, graph, kind, name, versions.len(), library));
            }
        }
        let object = &mut graph.objects[index];
        object.versions.clone_from(&versions);
        object.defs.clone_from(&defs);
        (object.final_versions, object.final_defs) = (versions, defs);
    }
}

/// Names of its own, or names that other libraries of the graph have as well.
fn versions(random: &mut Random, index: usize) -> Vec<String> {
    let shared = random.chance(50);
    (1..=random.between(1, 3))
        .map(|n| if shared { format!("VERS_{n}") } else { format!("LIB{index}_{n}.0") })
        .collect()
}

fn definition(
    random: &mut Random,
    graph: &mut Graph,
    kind: Kind,
    name: String,
    versions: usize,
    library: bool,
) -> Def {
    let version = (versions > 0 && random.chance(75)).then(|| random.below(versions.max(1)));
    let plain = matches!(kind, Kind::Function | Kind::Data);
    let old = match version {
        Some(version) if plain && version > 0 && random.chance(40) => vec![random.below(version)],
        _ => Vec::new(),
    };
    let weak = kind != Kind::Unique && random.chance(15);
    let visibility = match random.below(100) {
        0..7 if plain && library => Visibility::Protected,
        7..12 if library => Visibility::HiddenEntry,
        _ => Visibility::Default,
    };
    let feature = match (visibility, weak) {
        (Visibility::Protected, _) => "def: protected",
        (Visibility::HiddenEntry, _) => "def: hidden entry",
        (_, true) => "def: weak",
        _ => match kind {
            Kind::Function => "def: function",
            Kind::Data => "def: data",
            Kind::Tls => "def: TLS",
            Kind::Unique => "def: unique",
            Kind::Ifunc => "def: ifunc",
            Kind::Absolute => "def: absolute",
        },
    };
    graph.mark(feature);
    Def { name, kind, weak, visibility, size: *random.pick(&[4, 8, 16]), version, old }
}

pub fn refer(random: &mut Random, graph: &mut Graph) {
    let everything: Vec<String> = universe().map(|(_, name)| name).collect();
    for index in 0..graph.objects.len() {
        let visible = visible(graph, index);
        for _ in 0..random.between(2, 10) {
            let name = match random.below(100) {
                0..62 if !visible.is_empty() => random.pick(&visible).0.clone(),
                0..85 => random.pick(&everything).clone(),
                85..93 if !graph.objects[index].defs.is_empty() => {
                    random.pick(&graph.objects[index].defs).name.clone()
                }
                _ => format!("nowhere{}", random.below(4)),
            };
            let seen = visible.iter().find(|(seen, _)| *seen == name);
            if let Some(reference) = reference(random, graph, index, name, seen.map(|(_, at)| *at))
            {
                graph.objects[index].refs.push(reference);
            }
        }
        anchor(random, graph, index);
        for reference in graph.objects[index].refs.clone() {
            mark(graph, &reference);
        }
    }
}

/// The names that are defined in a link of this object, each with the first library that defines
/// it. A second library of one soname is not read.
fn visible(graph: &Graph, index: usize) -> Vec<(String, usize)> {
    let mut names: Vec<(String, usize)> = Vec::new();
    let mut known: Vec<&String> = Vec::new();
    for need in &graph.objects[index].needs {
        let Need::Library { index: other, alias } = need else { continue };
        let soname = alias.as_ref().unwrap_or(&graph.objects[*other].wanted);
        if known.contains(&soname) {
            continue;
        }
        known.push(soname);
        for def in &graph.objects[*other].defs {
            if names.iter().all(|(name, _)| *name != def.name) {
                names.push((def.name.clone(), *other));
            }
        }
    }
    names
}

/// A reference to this name, unless the linker would refuse every way to use it.
fn reference(
    random: &mut Random,
    graph: &Graph,
    index: usize,
    name: String,
    provider: Option<usize>,
) -> Option<Ref> {
    let object = &graph.objects[index];
    let program = object.program.as_ref();
    let kind = kind_of(&name);
    let own = object.defines(&name).is_some();
    let fixed = program.is_some_and(|program| !program.pie);
    let seen = provider.and_then(|provider| {
        let library = &graph.objects[provider];
        library.defines(&name).map(|def| (library, def))
    });
    let weak = random.chance(17);
    let version = match seen {
        // In a fixed program a pointer may become a copy, which has no version to go by.
        Some((library, def)) if !own && !fixed && !def.old.is_empty() && random.chance(60) => {
            Some(library.versions[def.old[0]].clone())
        }
        _ => None,
    };
    if object.refs.iter().any(|known| known.name == name && known.version == version) {
        return None;
    }
    let direct = fixed && !own && !weak && version.is_none() && seen.is_some();
    let possible: &[Use] = match kind {
        Kind::Function if direct => &[Use::Call, Use::Got, Use::Pointer, Use::Address],
        Kind::Function => &[Use::Call, Use::Got, Use::Pointer],
        Kind::Data if direct => &[Use::Got, Use::Pointer, Use::Copy, Use::Copy],
        Kind::Ifunc => &[Use::Call, Use::Got],
        // The assembler puts the number itself where it knows it.
        Kind::Absolute if own => return None,
        Kind::Data | Kind::Unique | Kind::Absolute => &[Use::Got, Use::Pointer],
        // A program is linked with the thread-local block of what it sees, or not at all.
        Kind::Tls if program.is_some() && seen.is_none() => return None,
        Kind::Tls => &[Use::TlsGlobal, Use::TlsInitial, Use::TlsInitial, Use::TlsDescriptor],
    };
    let mut uses: Vec<Use> = (0..random.between(1, 3)).map(|_| *random.pick(possible)).collect();
    if uses.contains(&Use::Copy) {
        uses.retain(|how| *how == Use::Copy);
    }
    Some(Ref { name, uses, weak, version })
}

/// An object with version needs also needs libc. If all files of its version needs were missing,
/// which is common in these graphs, the real loader would crash. A few objects are left without
/// libc.
fn anchor(random: &mut Random, graph: &mut Graph, index: usize) {
    let versioned = |need: &Need| match need {
        Need::Library { index, .. } => !graph.objects[*index].versions.is_empty(),
        Need::Gone(_) | Need::Libc => false,
    };
    let needs_versions = graph.objects[index].needs.iter().any(versioned);
    let object: &mut Object = &mut graph.objects[index];
    let has_libc = object.needs.iter().any(|need| matches!(need, Need::Libc));
    if needs_versions && !has_libc && !random.chance(1) {
        let at = random.below(object.needs.len() + 1);
        object.needs.insert(at, Need::Libc);
    } else if !has_libc {
        return;
    }
    let fixed = object.program.as_ref().is_some_and(|program| !program.pie);
    let call = Use::Call;
    object.refs.push(Ref { name: "puts".into(), uses: vec![call], weak: false, version: None });
    if random.chance(40) {
        let uses = vec![if fixed { Use::Copy } else { Use::Got }];
        object.refs.push(Ref { name: "stdout".into(), uses, weak: false, version: None });
    }
}

fn mark(graph: &mut Graph, reference: &Ref) {
    for how in &reference.uses {
        graph.mark(match how {
            Use::Call => "use: call",
            Use::Got => "use: GOT",
            Use::Pointer => "use: pointer",
            Use::Copy => "use: copy",
            Use::Address => "use: function address",
            Use::TlsGlobal => "use: TLS general dynamic",
            Use::TlsInitial => "use: TLS initial exec",
            Use::TlsDescriptor => "use: TLS descriptor",
        });
    }
    if reference.weak {
        graph.mark("reference: weak");
    }
    if reference.version.is_some() {
        graph.mark("reference: version by name");
    }
}
