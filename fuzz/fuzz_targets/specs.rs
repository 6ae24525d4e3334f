#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| linkaudit_fuzz::specs(bytes));
