//! Random links with all of the notation: circular references, several definitions of a name,
//! shared objects and options anywhere.

use super::{Link, compare};
use crate::support::random::{Random, seeds};
use std::collections::BTreeSet;

/// The ways of defining and referring to a name, with their weights.
const WAYS: &[(usize, &str)] = &[
    (20, ""),
    (10, "="),
    (12, "~"),
    (10, "%"),
    (8, "^"),
    (3, "^^"),
    (3, "*"),
    (4, ".h"),
    (3, ".p"),
    (2, "@@V1"),
    (2, "@V0"),
];
const TLS_WAYS: &[(usize, &str)] = &[(3, ""), (1, "~")];

/// An object: each name is defined or referred to once, in every way that there is.
fn object(random: &mut Random, names: &[String], shared: bool) -> String {
    let mut words = vec![format!("own{}", random.below(1 << 20))];
    let mut names: Vec<&String> = names.iter().collect();
    random.shuffle(&mut names);
    let defined = random.between(0, 2);
    let referred = random.between(0, 3);
    for name in names.iter().take(defined) {
        let ways = if name.starts_with('t') { TLS_WAYS } else { WAYS };
        // A shared object has no common symbols.
        let way = random.weighted(ways);
        let way = if shared && ["%", ".h", ".p"].contains(&way) { "" } else { way };
        words.push(format!("{name}{way}"));
    }
    for name in names.iter().skip(defined).take(referred) {
        let weak = random.chance(15);
        let end = random.weighted(&[(90, ""), (7, ".h"), (3, "@V0")]);
        let end = if shared || weak && end == "@V0" || name.starts_with('t') { "" } else { end };
        words.push(format!("{}{name}{end}", if weak { '?' } else { '!' }));
    }
    words.join(" ")
}

pub(super) fn link(seed: u64) -> Link {
    let mut random = Random::new(seed);
    let count = random.between(4, 10);
    let names: Vec<String> =
        (0..count).map(|n| format!("{}{n}", if n == 3 { 't' } else { 'n' })).collect();
    let mut objects = Vec::new();
    let mut parts: Vec<String> = Vec::new();
    let mut new = |random: &mut Random, shared: bool| {
        let name = format!("x{}", objects.len());
        objects.push(format!("{name}: {}", object(random, &names, shared)));
        name
    };
    for _ in 0..random.between(1, 2) {
        parts.push(new(&mut random, false));
    }
    let lazy = random.chance(25);
    for _ in 0..random.between(2, 5) {
        let members: Vec<String> =
            (0..random.between(1, 4)).map(|_| new(&mut random, false)).collect();
        let members = members.join(" ");
        parts.push(match random.weighted(&[(80, 0), (8, 1), (12, 2)]) {
            0 => format!("[{members}]"),
            1 => format!("--whole-archive [{members}] --no-whole-archive"),
            _ if lazy => format!("--start-lib {members} --end-lib"),
            _ => format!("[{members}]"),
        });
    }
    if random.chance(40) {
        let object = new(&mut random, true);
        parts.push(format!("({object})"));
    }
    if random.chance(30) {
        random.shuffle(&mut parts);
    }
    // lld allows no --start-lib in a group.
    if !lazy && random.chance(25) {
        parts = vec![format!("--start-group {} --end-group", parts.join(" "))];
    }
    let plain = |random: &mut Random| names[random.below(3)].clone();
    if random.chance(20) {
        parts.insert(0, format!("-u {}", plain(&mut random)));
    }
    let wraps = random.chance(10);
    // lld lets a symbol of --defsym settle what --wrap means.
    if !wraps && random.chance(10) {
        let at = random.between(0, parts.len());
        parts.insert(at, format!("--defsym={}=0", plain(&mut random)));
    }
    if wraps {
        parts.insert(0, format!("--wrap={}", plain(&mut random)));
    }
    Link::new(&objects.join(" | "), &parts.join(" "), &[])
}

/// Copies of two COMDAT groups, each with its own undefined name: only the name of the kept copy
/// stays undefined.
fn copies(seed: u64) -> Link {
    let mut random = Random::new(seed);
    let count = random.between(5, 8);
    let mut objects = Vec::new();
    for at in 0..count {
        let mut words = vec![format!("n{at}")];
        let referred = (0..random.between(0, 3)).map(|_| random.below(9));
        let referred: BTreeSet<usize> = referred.filter(|other| *other != at).collect();
        words.extend(referred.into_iter().map(|other| format!("!n{other}")));
        let groups = ["f^", "g$"].into_iter().filter(|_| random.chance(50));
        words.extend(groups.map(|group| format!("{group}>{}{at}", &group[..1])));
        objects.push(format!("x{at}: {}", words.join(" ")));
    }
    let roots = random.between(1, 3);
    let mut parts: Vec<String> = (0..roots).map(|at| format!("x{at}")).collect();
    let mut members: Vec<String> = (roots..count).map(|at| format!("x{at}")).collect();
    random.shuffle(&mut members);
    parts.extend(members.chunks(2).map(|members| format!("[{}]", members.join(" "))));
    random.shuffle(&mut parts);
    if random.chance(50) {
        let start = random.between(0, parts.len());
        let end = random.between(start, parts.len());
        parts.insert(end, "--end-group".to_owned());
        parts.insert(start, "--start-group".to_owned());
    }
    Link::new(&objects.join(" | "), &parts.join(" "), &[])
}

/// Two names, defined in all ways and mostly in COMDAT groups: which definition is selected, and
/// what remains if its copy of the group is discarded. No name is common. GNU ld keeps a name
/// common if the strong definition that follows is in a discarded group, and then extracts a
/// member for the name. linkaudit does not model this.
fn definitions(seed: u64) -> Link {
    const WAYS: &[(usize, &str)] = &[(8, "^"), (8, "^^"), (3, "~"), (1, ""), (1, "*")];
    let mut random = Random::new(seed);
    let count = random.between(3, 6);
    let mut objects = Vec::new();
    for at in 0..count {
        let mut words = vec![format!("n{at}")];
        for name in ["f", "g"] {
            match random.weighted(&[(5, 0), (2, 1), (1, 2)]) {
                0 => words.push(format!("{name}{}", random.weighted(WAYS))),
                1 => words.push(format!("!{name}")),
                _ => {}
            }
        }
        let other = random.below(count);
        words.extend((other != at).then(|| format!("!n{other}")));
        objects.push(format!("x{at}: {}", words.join(" ")));
    }
    objects.push("s: f g".to_owned());
    let mut parts: Vec<String> = (1..count)
        .map(|at| if random.chance(50) { format!("x{at}") } else { format!("[x{at}]") })
        .collect();
    if random.chance(25) {
        parts.push("(s)".to_owned());
    }
    random.shuffle(&mut parts);
    parts.insert(0, "x0".to_owned());
    Link::new(&objects.join(" | "), &parts.join(" "), &[])
}

#[test]
fn random_copies_of_groups_are_those_of_linkers() {
    let seeds = seeds("LINKAUDIT_LINKS", 60);
    let links: Vec<Link> = seeds.flat_map(|seed| [copies(seed), definitions(seed)]).collect();
    let (cases, wrong) = compare(&links);
    println!("copies of groups: {cases} cases, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn random_links_are_those_of_linkers() {
    let seeds = seeds("LINKAUDIT_LINKS", 60);
    let links: Vec<Link> = seeds.map(link).collect();
    let (cases, wrong) = compare(&links);
    let count = links.len();
    println!("random links: {count} links, {cases} cases, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
