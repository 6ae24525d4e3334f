//! Valid policies with random changes: nothing panics, and every error has a place. A policy that
//! still loads fits the schema, and reads back from the output of `show`.

use super::broken::PLATFORMS;
use super::kit::{Memory, bare, json, one, right};
use super::random::{Random, step};
use super::valid::validator;
use linkaudit::policy::{Pattern, load};
use linkaudit::rules::catalogue;
use std::ffi::OsStr;

const MUTANTS: u64 = 5000;

/// Text that is special in policies.
const PIECES: [&str; 24] = [
    "=",
    "\"",
    "'",
    "[",
    "]",
    "[[",
    "{",
    "}",
    "\n",
    ",",
    "*",
    "..",
    "/",
    "{T}",
    "#",
    "1",
    "2.17",
    "2027-06-01",
    "true",
    "\u{202e}",
    "\0",
    "\\",
    "\"\"\"",
    " ",
];

fn mutant(random: &mut Random, texts: &[(String, String)]) -> String {
    let mut lines: Vec<String> =
        random.pick(texts).1.split_inclusive('\n').map(str::to_owned).collect();
    for _ in 0..=random.below(3) {
        let at = random.below(lines.len().max(1)).min(lines.len().saturating_sub(1));
        let Some(line) = lines.get(at).cloned() else { continue };
        let inside = || {
            let places: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
            if places.is_empty() { vec![0] } else { places }
        };
        match random.below(8) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, line),
            2 => {
                let other = random.below(lines.len());
                lines.swap(at, other);
            }
            3 => {
                let (_, other) = random.pick(texts);
                let others: Vec<&str> = other.split_inclusive('\n').collect();
                lines.insert(at, (*random.pick(&others)).to_owned());
            }
            4 => {
                let cut = *random.pick(&inside());
                line[..cut].clone_into(&mut lines[at]);
            }
            5 => {
                let place = *random.pick(&inside());
                let piece = *random.pick(&PIECES);
                lines[at] = format!("{}{piece}{}", &line[..place], &line[place..]);
            }
            6 => {
                let place = *random.pick(&inside());
                let rest: String = line[place..].chars().skip(1).collect();
                lines[at] = format!("{}{rest}", &line[..place]);
            }
            _ => {
                let (key, value) = line.split_once('=').unwrap_or((&line, ""));
                let other = lines[random.below(lines.len())].clone();
                let other = other.split_once('=').map_or(value, |(_, value)| value).to_owned();
                lines[at] = format!("{key}={other}");
            }
        }
    }
    lines.concat()
}

#[test]
fn changed_policies_are_read_or_refused_and_nothing_else() {
    let texts = right();
    let validator = validator();
    let (mut read, mut refused, mut mistakes) = (0, 0, 0);
    for seed in (0..MUTANTS).step_by(step(4)) {
        let text = mutant(&mut Random::new(seed), &texts);
        let memory = Memory::default().with("p.toml", &text);
        match load([OsStr::new("p.toml")], &memory, catalogue()) {
            Ok(policy) => {
                read += 1;
                let errors: Vec<String> =
                    validator.iter_errors(&json(&text)).map(|error| error.to_string()).collect();
                assert!(errors.is_empty(), "seed {seed}: {errors:?}\n{text}");
                let shown = policy.show();
                let again =
                    one(&shown).unwrap_or_else(|error| panic!("seed {seed}:\n{error}{shown}"));
                assert_eq!(bare(policy), bare(again), "seed {seed}:\n{shown}");
            }
            Err(found) => {
                refused += 1;
                mistakes += found.count();
                let shown = found.render(false);
                assert!(shown.matches("error: ").count() >= found.count().min(200), "seed {seed}");
                assert!(shown.contains("--> p.toml:"), "seed {seed}:\n{shown}");
                let calm = |c: char| c == '\n' || !c.is_control();
                assert!(shown.chars().all(calm), "seed {seed}:\n{shown:?}");
            }
        }
    }
    println!(
        "{MUTANTS} changed policies: {read} read, {refused} refused for {mistakes} mistakes, 0 panics"
    );
    let least = MUTANTS / 10 / step(4) as u64;
    assert!(read > least && refused > least, "{read} {refused}");
}

#[test]
fn patterns_of_any_kind_are_made_or_refused() {
    let pieces = [
        "*",
        "**",
        "?",
        "[",
        "]",
        "!",
        "^",
        "-",
        "{",
        "}",
        ",",
        "\\",
        "/",
        "a",
        "z",
        "é",
        "߿",
        "ࠀ",
        "&&",
        "[:alpha:]",
        "\u{10ffff}",
    ];
    let (mut made, all) = (0, 20_000);
    for seed in 0..all {
        let random = &mut Random::new(seed);
        let text: String = (0..random.below(12)).map(|_| *random.pick(&pieces)).collect();
        for pattern in [Pattern::path(&text), Pattern::name(&text)] {
            made +=
                u64::from(pattern.is_ok_and(|pattern| !pattern.matches(b"nothing is called so")));
        }
    }
    for text in
        ["?".repeat(300_000), "{".repeat(400) + "a" + &"}".repeat(400), "[a-z]".repeat(90_000)]
    {
        assert!(Pattern::path(&text).is_err());
    }
    println!("{all} random patterns, {made} made twice over, 0 panics");
}

#[test]
fn changed_policies_of_auditwheel_are_read_or_refused() {
    let texts = [("w.json".to_owned(), PLATFORMS.to_owned())];
    let (mut read, all) = (0, 1000);
    for seed in 0..all {
        let text = mutant(&mut Random::new(seed), &texts);
        let memory = Memory::default().with("w.json", &text);
        match memory.load(&["w.json#small_1_x86_64"]) {
            Ok(policy) => {
                read += 1;
                one(&policy.show()).unwrap_or_else(|error| panic!("seed {seed}:\n{error}{text}"));
            }
            Err(shown) => assert!(shown.contains("--> w.json#"), "seed {seed}:\n{shown}"),
        }
    }
    println!("{all} changed policies of auditwheel: {read} read, 0 panics");
    assert!(read > 0);
}
