//! The seeded pseudo-random generator of the generated tests (splitmix64). A seed gives the same
//! graph or mutant on every machine and with every crate version.
#![allow(dead_code, reason = "every test binary uses its own part of this module")]

#[derive(Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x1234_5678_9abc_def0 }
    }

    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which must not be zero.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("below a usize")
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let index = self.below(from.len());
        &from[index]
    }

    /// One of the values, with a probability in proportion to its weight.
    pub fn weighted<T: Copy>(&mut self, from: &[(usize, T)]) -> T {
        let mut at = self.below(from.iter().map(|(weight, _)| weight).sum());
        for (weight, value) in from {
            if at < *weight {
                return *value;
            }
            at -= weight;
        }
        unreachable!("the weights were summed")
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }
}

/// A number from the environment, or the default.
pub fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")),
        Err(_) => default,
    }
}

/// Number of cases of a slow test: the number from the environment, else `all` in `.ci/run`, else a
/// fifth of them, so that `cargo test` stays short.
pub fn amount(name: &str, all: u64) -> u64 {
    number(name, if is_sweep() { all } else { all.div_ceil(5) })
}

/// The seeds of a test with `amount` cases. `LINKAUDIT_SEED` is the first seed, so that a sweep
/// with another first seed has other cases.
pub fn seeds(name: &str, all: u64) -> std::ops::Range<u64> {
    let first = number("LINKAUDIT_SEED", 0);
    first..first + amount(name, all)
}

/// 1 in `.ci/run`, where a slow test takes all of its cases, else `few`: the test takes one case
/// in `few`.
pub fn step(few: usize) -> usize {
    if is_sweep() { 1 } else { few }
}

/// True if `LINKAUDIT_SWEEP=all`, as in `.ci/run`: tests take all files of this machine, not a
/// sample.
pub fn is_sweep() -> bool {
    std::env::var_os("LINKAUDIT_SWEEP").is_some_and(|value| value == "all")
}
