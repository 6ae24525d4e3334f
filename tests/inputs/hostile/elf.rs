//! Cases of ELF files: an intact file, perhaps with the library that it needs, and one operation.

use super::build::build;
use super::case::{Case, Label};
use super::random::Random;
use super::shape::Shape;
use super::{harm, odd};

/// The case of this number: operations in turn, every third one harmless.
pub fn case(number: usize, random: &mut Random) -> Case {
    loop {
        let (shape, other) = Shape::draw(random);
        let built = build(&shape);
        let mut elf = built.edit();
        let (operation, label) = if number % 3 == 2 {
            let (name, operation) = odd::OPERATIONS[number / 3 % odd::OPERATIONS.len()];
            if !operation(random, &built, &mut elf) {
                continue;
            }
            (name, Label::Clean)
        } else {
            let turn = number / 3 * 2 + number % 3;
            let (name, operation) = harm::OPERATIONS[turn % harm::OPERATIONS.len()];
            let Some(expected) = operation(random, &built, &mut elf) else { continue };
            (name, Label::Reported(expected))
        };
        let mut files = vec![("subject".to_owned(), elf.bytes)];
        files.extend(other.map(|other| ("libother.so.2".to_owned(), build(&other).bytes)));
        return Case { operation, label, files };
    }
}
