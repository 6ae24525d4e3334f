//! Fuzzes the archive reader. Every fourth mutation replaces the input with an archive from the
//! tests' generator of hostile files, intact or with one defect. The others are the fuzzer's own.
#![no_main]
#![allow(dead_code, unused_imports, reason = "the modules of the tests are shared")]

#[path = "../../tests/inputs/hostile/archives.rs"]
mod archives;
#[path = "../../tests/inputs/hostile/build.rs"]
mod build;
#[path = "../../tests/inputs/hostile/case.rs"]
mod case;
#[path = "../../tests/support/elf_file.rs"]
mod elf_file;
#[path = "../../tests/inputs/hostile/harm.rs"]
mod harm;
#[path = "../../tests/inputs/hostile/objects.rs"]
mod objects;
#[path = "../../tests/support/random.rs"]
mod random;
#[path = "../../tests/inputs/hostile/shape.rs"]
mod shape;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| linkaudit_fuzz::archive(bytes));

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 4 == 0 {
        let case = archives::case(seed as usize / 4, &mut random::Random::new(seed.into()));
        let bytes = &case.files[0].1;
        if bytes.len() <= max_size.min(data.len()) {
            data[..bytes.len()].copy_from_slice(bytes);
            return bytes.len();
        }
    }
    libfuzzer_sys::fuzzer_mutate(data, size, max_size)
});
